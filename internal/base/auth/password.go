// Package auth implements the parts of authentication that need no storage: password hashes, access tokens and opaque secrets.
// Package account keeps the sessions. All functions and methods are safe for concurrent use.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Cost of one hash of Argon2id. After it was raised, each password is rehashed at its user's next login.
type Cost struct {
	Memory  uint32 // KiB
	Time    uint32 // passes over the memory
	Threads uint8
}

// DefaultCost is the one of OWASP's equal minima with the least memory. A processor computes a quarter of a pass over it without a break, and other
// goroutines wait for that: 2 ms, and not 5 as with 19 MiB.
func DefaultCost() Cost { return Cost{Memory: 7 * 1024, Time: 5, Threads: 1} }

// maxWaiting bounds the waiting calls for each concurrent hash. A hash takes some 40 ms, so the last one waits for about 3 s, and three times as long while the
// processors are busy.
const maxWaiting = 64

// Passwords hashes and checks passwords. It bounds the memory: each concurrent hash takes 7 MiB at the default cost.
type Passwords struct {
	slots   chan struct{} // one for each running hash
	waiting chan struct{} // one for each running or waiting call
	busy    func() bool
	after   func(time.Duration, func()) *time.Timer // time.AfterFunc
	cost    Cost
	decoy   string // the hash that is checked for an unknown user
}

// ErrBusy is returned if too many calls wait already.
var ErrBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: 2 * time.Second}

// NewPasswords allows n concurrent hashes. Further calls wait, up to a bound, and fail with ErrBusy beyond it.
func NewPasswords(n int, cost Cost) *Passwords {
	p := &Passwords{slots: make(chan struct{}, n), waiting: make(chan struct{}, n*maxWaiting), busy: processorsAreBusy, after: time.AfterFunc, cost: cost}
	p.decoy = cost.hash("a password that nobody has")
	return p
}

// processorsAreBusy reports whether a goroutine that is ready waits for a processor.
func processorsAreBusy() bool {
	asked := time.Now()
	runtime.Gosched()
	return time.Since(asked) > time.Millisecond
}

// maxRest bounds the rest of a slot, where a hash takes long because other processes need the processors.
const maxRest = 100 * time.Millisecond

// run computes a hash in a slot, once there is one. While the processors are busy, the slot rests after each hash for twice as long: a crowd that guesses
// passwords then takes about a third of a processor.
func (p *Passwords) run(ctx context.Context, hash func()) error {
	select {
	case p.waiting <- struct{}{}:
	default:
		return ErrBusy
	}
	defer func() { <-p.waiting }()
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	hash()
	took := time.Since(began)
	if p.busy() {
		p.after(min(2*took, maxRest), func() { <-p.slots })
	} else {
		<-p.slots
	}
	return nil
}

// Hash returns a password's hash as a PHC string.
func (p *Passwords) Hash(ctx context.Context, password string) (phc string, err error) {
	err = p.run(ctx, func() { phc = p.cost.hash(password) })
	return phc, err
}

// normalize returns the form of a password that is hashed. Some keyboards write é as one character and others as two, which look the same.
func normalize(password string) []byte { return norm.NFC.Bytes([]byte(password)) }

func (c Cost) hash(password string) string {
	var salt [16]byte
	rand.Read(salt[:]) //nolint:errcheck // never fails
	sum := argon2.IDKey(normalize(password), salt[:], c.Time, c.Memory, c.Threads, 32)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.Memory, c.Time, c.Threads, e.EncodeToString(salt[:]), e.EncodeToString(sum))
}

// Check compares a password with a PHC string. An empty string stands for an unknown user: the check takes as long, and fails.
// rehash reports that the string was made at another cost.
func (p *Passwords) Check(ctx context.Context, phc, password string) (ok, rehash bool, err error) {
	known := phc != ""
	if !known {
		phc = p.decoy
	}
	var version, memory, passes, threads uint32
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, false, errors.New("a stored password hash is not argon2id")
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &threads); err != nil {
		return false, false, fmt.Errorf("a stored password hash: %w", err)
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err := errors.Join(err1, err2); err != nil {
		return false, false, err
	}
	var got []byte
	err = p.run(ctx, func() {
		got = argon2.IDKey(normalize(password), salt, passes, memory, uint8(threads), uint32(len(want)))
	})
	if err != nil {
		return false, false, err
	}
	ok = subtle.ConstantTimeCompare(got, want) == 1 && known
	return ok, Cost{Memory: memory, Time: passes, Threads: uint8(threads)} != p.cost, nil
}

// NewSecret returns a random secret of 256 bits, after a prefix that names its purpose.
func NewSecret(prefix string) string {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// Sum returns the hash of a secret that is stored in its place. A plain hash is enough, since a secret has 256 random bits.
func Sum(secret string) []byte {
	s := sha256.Sum256([]byte(secret))
	return s[:]
}
