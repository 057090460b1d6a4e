package edge

import (
	"context"
	"sync"
)

// Poll asks an origin once what has changed.
func Poll(ctx context.Context, s *Server, origin int) error { return s.poll(ctx, origin) }

// Review reviews transfers in progress once, and waits for the answers of the origin.
func Review(ctx context.Context, s *Server) {
	var asks sync.WaitGroup
	s.review(ctx, &asks)
	asks.Wait()
}

// Kept is how many changes an edge may ask for.
const Kept = kept

// Bounds of uploads.
const (
	UploadsAtOnce    = uploadsAtOnce
	UploadsOfNetwork = uploadsOfNetwork
)

// Streamer sends uploads to an origin.
type Streamer = streamer

// SendUploadsBy has an edge send uploads by another streamer.
func SendUploadsBy(s *Server, by Streamer) {
	s.uploads.Close()
	s.uploads = by
}
