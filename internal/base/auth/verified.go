package auth

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// maxVerified bounds the tokens that are remembered, some 100 bytes each.
const maxVerified = 1 << 16

// verifiedTokens remembers tokens that were verified. A client presents the same token with each request and each connection until it expires,
// and the check of a signature costs a hundred times as much as the hash by which the token is found again. What may change, whether the session
// still exists, is not remembered.
type verifiedTokens struct {
	mu sync.Mutex // guards the fields below
	// Tokens are added to recent. When it has half of maxVerified, it becomes old, whose tokens are forgotten.
	recent, old map[[sha256.Size]byte]verifiedToken
}

type verifiedToken struct {
	caller           id.Caller
	checked, expires time.Time
}

// get returns the caller of a token that was verified. The claims were valid then, so they still are until the token expires, unless the clock
// was set back.
func (v *verifiedTokens) get(sum [sha256.Size]byte, now time.Time) (id.Caller, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t, ok := v.recent[sum]
	if !ok {
		t, ok = v.old[sum]
	}
	if !ok || now.Before(t.checked) || !now.Before(t.expires) {
		return id.Caller{}, false
	}
	return t.caller, true
}

func (v *verifiedTokens) add(sum [sha256.Size]byte, t verifiedToken) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.recent == nil || len(v.recent) >= maxVerified/2 {
		v.recent, v.old = map[[sha256.Size]byte]verifiedToken{}, v.recent
	}
	v.recent[sum] = t
}
