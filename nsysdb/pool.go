package nsysdb

import "sync"

// A pool keeps a few connections: to open one is to read the whole schema.
type pool struct {
	path string
	mu   sync.Mutex
	idle []*conn
	shut bool
}

func (p *pool) get() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c, nil
	}
	if p.shut {
		return nil, readError(p.path, errRead, "the report is closed")
	}
	return dial(p.path)
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.tls == nil || p.shut || len(p.idle) >= 8 {
		c.close()
		return
	}
	p.idle = append(p.idle, c)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}
