package nsysdb

import "sync"

// A pool keeps a few connections: to open one is to read the whole schema.
type pool struct {
	path string
	mu   sync.Mutex
	idle []*conn
	shut bool
}

// get gives a connection that no one else uses.
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

// put takes a connection back. One that failed, or that is one too many, is closed.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.tls == nil || p.shut || len(p.idle) >= 8 {
		c.close()
		return
	}
	p.idle = append(p.idle, c)
}

// close closes all connections that are at rest; those in use are closed when they come back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}

// A seeker finds single rows by a number. It takes a connection with the first of them, for mostly there are none.
type seeker struct {
	pool *pool
	sql  string // has a parameter for the number
	c    *conn
	s    *stmt
}

// find gives the row of a number to f, which may only read its columns, and says whether there is one.
func (k *seeker) find(number int64, f func(*stmt)) (found bool, err error) {
	if k.c == nil {
		if k.c, err = k.pool.get(); err != nil {
			return false, err
		}
	}
	if k.s == nil {
		if k.s, err = k.c.prepare(k.sql); err != nil {
			return false, err
		}
	}
	err = k.c.guard(func() error {
		k.s.bind(1, number)
		if found, err = k.s.next(); found {
			f(k.s)
		}
		return err
	})
	return found, err
}

// close gives the connection back.
func (k *seeker) close() {
	if k.s != nil {
		k.s.close()
	}
	if k.c != nil {
		k.pool.put(k.c)
	}
	k.c, k.s = nil, nil
}
