package backup

import "context"

// Look reads when the newest backup was made, as Run does.
func (s *Service) Look(ctx context.Context) { s.look(ctx) }
