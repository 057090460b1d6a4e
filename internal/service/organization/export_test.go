package organization

// Bounds of what is remembered.
const (
	KnownFor  = knownFor
	MaxAsked  = maxAsked
	ReadBatch = readBatch
)

// Reads returns how many queries have read organizations of users.
func (s *Service) Reads() int {
	s.memberships.mu.Lock()
	defer s.memberships.mu.Unlock()
	return s.memberships.reads
}

// Remembered returns how many users wait to be read, and of how many the organizations are known.
func (s *Service) Remembered() (asked, known int) {
	s.memberships.mu.Lock()
	defer s.memberships.mu.Unlock()
	return len(s.memberships.asked), len(s.memberships.known)
}

// ForgetAt makes the bound of the users whose organizations are known smaller.
func (s *Service) ForgetAt(n int) {
	s.memberships.mu.Lock()
	defer s.memberships.mu.Unlock()
	s.memberships.most = n
}
