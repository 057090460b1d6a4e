package edge

import "context"

// Poll asks an origin once what has changed.
func Poll(ctx context.Context, s *Server, origin int) error { return s.poll(ctx, origin) }

// Kept is how many changes an edge may ask for.
const Kept = kept
