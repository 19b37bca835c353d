package align

import (
	"regexp"
	"sort"
	"strings"
)

// A family is a group of ranges on one thread that differ in digits alone.
type family struct {
	thread   *thread
	pattern  string  // name with digits as "#", or the regular expression
	members  []int32 // spans, in time order, without those nested in another member
	word     string  // the iteration word in its name, in lower case; empty for none
	operator bool
	module   bool // executions of a function that XLA compiled
	overlaps bool // members overlap without nesting
	nested   int  // members left out because they lie inside another
}

// families groups the spans of a process. Families of operators and libraries are grouped too, to be told and refused.
func families(r *ranges, p *process) []*family {
	type key struct {
		thread  *thread
		domain  int64
		pattern string
	}
	byKey := make(map[key]*family)
	patterns := make(map[int32]string) // by name
	var out []*family
	for _, t := range at(r.byProc, p) {
		for _, id := range t.ranges {
			s := &r.spans[id]
			pat, ok := patterns[s.name]
			if !ok {
				pat = pattern(r.names[s.name])
				patterns[s.name] = pat
			}
			k := key{t, s.domain, pat}
			f := byKey[k]
			if f == nil {
				f = &family{thread: t, pattern: pat, operator: s.operator, module: s.library && !s.operator}
				if m := iterationWord.FindStringSubmatch(pat); m != nil && !phaseWord.MatchString(pat) {
					f.word = strings.ToLower(m[1])
				}
				byKey[k] = f
				out = append(out, f)
			}
			f.add(r, id)
		}
	}
	return out
}

// matching makes a family of the ranges of a thread whose name, domain:name or, where the expression has a slash, path
// matches; nil where none does.
func matching(r *ranges, t *thread, re *regexp.Regexp, domain string) *family {
	f := &family{thread: t, pattern: re.String()}
	walk := stack{spans: r.spans}
	for _, id := range t.ranges {
		s := &r.spans[id]
		walk.at(s.start)
		if r.inDomain(s, domain) && r.matches(re, s, walk.open) {
			f.add(r, id)
		}
		walk.open = append(walk.open, id)
	}
	if len(f.members) == 0 {
		return nil
	}
	return f
}

// matches says that a span, inside those that are open, is one that an expression asks for.
func (r *ranges) matches(re *regexp.Regexp, s *span, open []int32) bool {
	name := r.names[s.name]
	if re.MatchString(name) || re.MatchString(r.domainName(s)+":"+name) {
		return true
	}
	if len(open) == 0 || !strings.Contains(re.String(), "/") {
		return false // else whatever lies inside "step 3" would match "^step"
	}
	parts := make([]string, 0, len(open)+1)
	for _, id := range open {
		parts = append(parts, r.name(id))
	}
	return re.MatchString(strings.Join(append(parts, name), "/"))
}

// add appends a member; members come by start. One that was never closed ends where the next round begins: a program
// that leaves a round by an exception does not close its range.
func (f *family) add(r *ranges, id int32) {
	s := &r.spans[id]
	if n := len(f.members); n > 0 {
		last := &r.spans[f.members[n-1]]
		switch {
		case last.open:
			if !succeeds(r.names[s.name], r.names[last.name]) {
				f.nested++
				return
			}
		case s.start < last.end && s.end <= last.end:
			f.nested++
			return
		case s.start < last.end:
			f.overlaps = true
		}
	}
	f.members = append(f.members, id)
}

// time is the sum of the members' durations, in ns; one that was never closed lasts to the last time seen so far.
func (f *family) time(r *ranges, last int64) int64 {
	sum := int64(0)
	for _, id := range f.members {
		s := &r.spans[id]
		sum += min(s.end, last) - s.start
	}
	return sum
}

// within says that most members lie inside members of another family.
func (f *family) within(r *ranges, g *family) bool {
	if f.thread != g.thread {
		return false
	}
	n := 0
	for _, id := range f.members {
		if g.holds(r, id) {
			n++
		}
	}
	return 2*n > len(f.members)
}

// holds says that a span lies inside a member of the family.
func (f *family) holds(r *ranges, id int32) bool {
	s := &r.spans[id]
	i := sort.Search(len(f.members), func(k int) bool { return r.spans[f.members[k]].start > s.start }) - 1
	if i < 0 {
		return false
	}
	g := &r.spans[f.members[i]]
	return g.start <= s.start && s.end <= g.end && (g.end-g.start) > (s.end-s.start)
}

// hasPhases says that ranges begin inside the members, other than a library's.
func (f *family) hasPhases(r *ranges) bool {
	k := 0
	for _, id := range f.thread.ranges {
		s := &r.spans[id]
		for k < len(f.members) && r.spans[f.members[k]].end <= s.start {
			k++
		}
		if k == len(f.members) {
			return false
		}
		if id != f.members[k] && !s.library && s.start >= r.spans[f.members[k]].start {
			return true
		}
	}
	return false
}
