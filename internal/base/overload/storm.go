package overload

import "time"

// In a reconnect storm, such as after a switch has failed, many clients come back at once. They have what they need but for the last minutes, so that each is
// served quickly. Clients that start from nothing cost more, and nobody waits for what they had: they come a little later, spread over time.

const (
	// StormResumes in a second and the one before are a storm, if the node cannot take connections as fast as they come.
	StormResumes = 200
	// Clients that start from nothing are asked to come back in ColdWaitLeast to ColdWaitMost.
	ColdWaitLeast = 2 * time.Second
	ColdWaitMost  = 10 * time.Second
)

// Storm counts the clients that came back, in this second and the one before. The zero Storm has seen none. It belongs to one goroutine at a time.
type Storm struct {
	second         uint32
	count, earlier int
}

// Admit reports whether a client is admitted at a second. resume: it comes back. pacing: the node accepts connections more slowly than they come.
func (s *Storm) Admit(second uint32, resume, pacing bool) bool {
	if resume {
		s.add(second, 1)
		return true
	}
	return !pacing || s.add(second, 0) < StormResumes
}

// add counts n clients at a second, and returns how many there were in it and the one before.
func (s *Storm) add(second uint32, n int) int {
	switch second - s.second {
	case 0:
	case 1:
		s.earlier, s.count = s.count, 0
	default:
		s.earlier, s.count = 0, 0
	}
	s.second = second
	s.count += n
	return s.count + s.earlier
}
