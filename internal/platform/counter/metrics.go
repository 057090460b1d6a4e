package counter

import "sync/atomic"

// metrics of this process.
type metrics struct {
	changes, transactions, droppedViews atomic.Uint64
}

// Changes counts the changes of sets that this node has answered, and Transactions the calls that stored them.
func (s *Service) Changes() uint64      { return s.metrics.changes.Load() }
func (s *Service) Transactions() uint64 { return s.metrics.transactions.Load() }

// DroppedViews counts the views that were not counted because too many waited to be written.
func (s *Service) DroppedViews() uint64 { return s.metrics.droppedViews.Load() }
