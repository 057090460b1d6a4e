// Package pagetoken encrypts page tokens. A page may end at an item that its reader must not know of, so the token must not reveal it.
package pagetoken

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// ErrBad is the refusal of a page token that no answer had, encrypted or not.
var ErrBad = errs.New(errs.Invalid, "bad_page", "this page token is not valid; start again without one")

// Start returns the number of a token that is not encrypted, from which a page begins; first if there is no token.
func Start[T int64 | uint64](page string, first T) (T, error) {
	if page == "" {
		return first, nil
	}
	n, err := strconv.ParseUint(page, 10, 63)
	if err != nil {
		return 0, ErrBad
	}
	return T(n), nil
}

// Sealer makes and reads tokens. It is safe for concurrent use.
type Sealer struct{ aead cipher.AEAD }

// New returns a Sealer with a secret.
func New(secret []byte) (Sealer, error) {
	key := sha256.Sum256(secret)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return Sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return Sealer{aead}, err
}

// Seal returns the token of a place. Open reads it with the same binding only, which may be nil.
func (s Sealer) Seal(place, binding []byte) string {
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce) //nolint:errcheck // it never fails
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, place, binding))
}

// Open returns the place of a token. ok is false for any other text.
func (s Sealer) Open(token string, binding []byte) (place []byte, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < s.aead.NonceSize() || strings.ContainsAny(token, "\r\n") { // which base64 ignores
		return nil, false
	}
	place, err = s.aead.Open(nil, raw[:s.aead.NonceSize()], raw[s.aead.NonceSize():], binding)
	return place, err == nil
}
