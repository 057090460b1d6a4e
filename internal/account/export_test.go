package account

// Admit counts a login.
func (s *Service) Admit(handle string) error { return s.admit(handle) }

// AttemptsMost are the handles whose logins are counted.
const AttemptsMost = attemptsMost
