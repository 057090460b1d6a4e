package outgoing

import "time"

const (
	// Of the calls of the last budgetSeconds, one in budgetShare may be a retry, and Policy.Floor more.
	budgetSeconds = 10
	budgetShare   = 10
)

// budget of the retries to a destination.
type budget struct {
	seconds [budgetSeconds]struct {
		at             int64 // seconds since 1970
		calls, retries int
	}
}

// called counts a call, which may be a retry.
func (b *budget) called(now time.Time) {
	s := &b.seconds[now.Unix()%budgetSeconds]
	if s.at != now.Unix() {
		s.at, s.calls, s.retries = now.Unix(), 0, 0
	}
	s.calls++
}

// take reports whether a retry is within the budget, and takes it.
func (b *budget) take(now time.Time, floor int) bool {
	calls, retries := 0, 0
	for _, s := range b.seconds {
		if s.at > now.Unix()-budgetSeconds {
			calls += s.calls - s.retries
			retries += s.retries
		}
	}
	if retries >= floor+calls/budgetShare {
		return false
	}
	s := &b.seconds[now.Unix()%budgetSeconds]
	if s.at != now.Unix() {
		s.at, s.calls, s.retries = now.Unix(), 0, 0
	}
	s.retries++
	return true
}
