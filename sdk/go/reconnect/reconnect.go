// Package reconnect decides when a client connects again, and to which of several servers. It does no I/O and reads no clock, so a simulation of many clients
// runs the same decisions as a Client.
package reconnect

import (
	"slices"
	"time"
)

const (
	// MinWait is the bound of the wait before any failure; it doubles with each.
	MinWait = 250 * time.Millisecond
	// MaxWait is the bound of the wait by default.
	MaxWait = 30 * time.Second
	// StableAfter is how long a connection must have been open to end a series of failures.
	StableAfter = 10 * time.Second
	// OpenWithin is how long a connection may take to open, by default.
	OpenWithin = 10 * time.Second
	// DiscoverWithin is how long a discovery may take, DiscoverAgain the time between one that failed and the next one.
	DiscoverWithin = 3 * time.Second
	DiscoverAgain  = 5 * time.Second
	// LongestLifetime bounds how long a list is used, whatever the server says.
	LongestLifetime = time.Hour
	// A server that failed is tried last for FailureTime.
	FailureTime = time.Minute
)

// Wait returns how long to wait before the next connection, after a number of failures in a row: a random time below a bound that doubles up to most, and
// what the server asked for. random returns a number below n, of at least 0. Clients that lost a server at the same time so come back at different times.
func Wait(failures int, asked, most time.Duration, random func(n int64) int64) time.Duration {
	return asked + time.Duration(random(int64(min(most, MinWait<<min(failures, 10)))))
}

// Servers are those that a client connects to: the list of the last discovery, which outlives discoveries that fail, and the deployment's own address.
// It belongs to one goroutine.
type Servers struct {
	// Own is the address that the client was given. It is the last resort.
	Own string
	// Discover: the client asks for a list.
	Discover bool

	list     []string             // addresses, best first
	askAt    time.Time            // when the list is too old
	failed   map[string]time.Time // addresses that failed, and when
	current  string               // the address of the last try
	previous string               // the node of the last connection
}

// MustDiscover reports whether the list is too old. The caller then asks for another one, and calls Discovered or NotDiscovered, before Next.
func (s *Servers) MustDiscover(now time.Time) bool { return s.Discover && !now.Before(s.askAt) }

// Discovered replaces the list, which is good for a time.
func (s *Servers) Discovered(list []string, lifetime time.Duration, now time.Time) {
	s.list = list
	s.askAt = now.Add(min(lifetime, LongestLifetime))
	for address, at := range s.failed {
		if now.Sub(at) > FailureTime {
			delete(s.failed, address)
		}
	}
}

// NotDiscovered keeps the last list, since the discovery failed.
func (s *Servers) NotDiscovered(now time.Time) { s.askAt = now.Add(DiscoverAgain) }

// Next returns the address for the next try: the best one that has not failed, then Own, then the one that failed longest ago.
func (s *Servers) Next() string {
	all := s.list
	if !slices.Contains(all, s.Own) {
		all = append(slices.Clone(all), s.Own)
	}
	s.current = all[0]
	for _, address := range all[1:] {
		if s.failed[address].Before(s.failed[s.current]) {
			s.current = address
		}
	}
	return s.current
}

// Previous is the node of the last connection; "" before the first.
func (s *Servers) Previous() string { return s.previous }

// Opened records that the last try led to a node, which is preferred from now on.
func (s *Servers) Opened(node string) {
	s.previous = node
	delete(s.failed, s.current)
	if i := slices.Index(s.list, s.current); i > 0 {
		s.list = slices.Insert(slices.Delete(s.list, i, i+1), 0, s.current)
	}
}

// Fail records that the last try led to no connection, or that its node stops: its address is tried last. It reports whether there is another one that has
// not failed.
func (s *Servers) Fail(now time.Time) (others bool) {
	if s.failed == nil {
		s.failed = map[string]time.Time{}
	}
	s.failed[s.current] = now
	if !s.Discover {
		return false
	}
	for _, address := range append(slices.Clone(s.list), s.Own) {
		if s.failed[address].IsZero() {
			return true
		}
	}
	return false
}
