package cluster

import (
	"context"
	"sync/atomic"
)

// Grant is this node's ownership of one part. It ends when its context is cancelled, before Work.Revoked is called.
type Grant struct {
	Part int
	// Term counts the changes of the part's owner. It is higher than in any earlier grant of the part, on any node, and never 0. A
	// store can compare it to reject the writes of an earlier owner.
	Term uint64

	ctx    context.Context
	latest *atomic.Uint64 // term that a store has reported; 0 if none has
}

// NewGrant returns a grant that ends with ctx.
func NewGrant(ctx context.Context, part int, term uint64) Grant {
	return Grant{part, term, ctx, new(atomic.Uint64)}
}

// Superseded tells the cluster that a store has the part in the given term, and therefore rejects the grant's. Usually another node owns
// the part by then, and the grant is about to end. If this node still owns it, the store and the cluster's database disagree, for example
// because one was restored from a backup. Then the node takes the part again in a higher term than the store's.
func (g Grant) Superseded(term uint64) {
	for now := g.latest.Load(); now < term && !g.latest.CompareAndSwap(now, term); now = g.latest.Load() {
	}
}

// Latest returns the highest term that Superseded has reported, or 0.
func (g Grant) Latest() uint64 { return g.latest.Load() }

// Context is cancelled when the grant ends. The context of the zero Grant is cancelled already.
func (g Grant) Context() context.Context {
	if g.ctx == nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		return ended
	}
	return g.ctx
}

// Held reports whether the grant has not ended.
func (g Grant) Held() bool { return g.ctx != nil && g.ctx.Err() == nil }

// During returns a context that ends with the parent or with the grant, whichever is first.
func (g Grant) During(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(g.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

// heldGrant is a grant that this node holds.
type heldGrant struct {
	Grant
	cancel context.CancelFunc
}
