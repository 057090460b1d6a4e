package inputlimit

import "sync"

// Users counts the HTTP connections of authenticated users, each for the first user of it. Connections from this machine and from proxies are not counted: they
// have calls of many users.
type Users struct {
	perUser int

	mu     sync.Mutex // guards the field below
	counts map[uint64]int
}

// NewUsers creates a counter for at most perUser connections of each user.
func NewUsers(perUser int) *Users { return &Users{perUser: perUser, counts: map[uint64]int{}} }

// add changes the count of a user by n, unless it would exceed the limit.
func (u *Users) add(user uint64, n int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n > 0 && u.counts[user] >= u.perUser {
		return false
	}
	if u.counts[user] += n; u.counts[user] == 0 {
		delete(u.counts, user)
	}
	return true
}

// Identify counts the connection for a user, until it is closed or handed over. It returns false if the user has too many. A connection that has a user already, or whose client is not
// known by its address, is not counted again.
func (s *Slot) Identify(users *Users, user uint64) bool {
	if s == nil || !s.from.IsValid() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user != 0 || s.ended {
		return true
	}
	if !users.add(user, 1) {
		return false
	}
	s.users, s.user = users, user
	return true
}

// releaseUser counts the connection for nobody from now on.
func (s *Slot) releaseUser() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; s.user != 0 {
		s.users.add(s.user, -1)
		s.user = 0
	}
}
