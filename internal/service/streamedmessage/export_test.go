package streamedmessage

import "context"

// Respond returns the handler of other nodes' requests, which Run registers.
func (s *Service) Respond() func([]byte) []byte { return s.respond }

// Held counts the messages that this node holds, and the bytes of their texts.
func (s *Service) Held() (messages int, bytes int64) { return len(s.all()), s.bytes.Load() }

// Interval between two pushes of a message, in milliseconds.
func (s *Service) Interval() int64 { return s.interval().Milliseconds() }

// Release ends this node's share, as the end of Run does.
func (s *Service) Release(ctx context.Context) { s.release(ctx) }
