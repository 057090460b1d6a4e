// Package passkeytest has an authenticator in software for tests of passkeys: discoverable credentials with ES256. It also gives answers that a
// browser would not.
package passkeytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Flags of authenticator data.
const (
	UserPresent    = 1 << 0
	UserVerified   = 1 << 2
	BackupEligible = 1 << 3
	BackedUp       = 1 << 4
	attested       = 1 << 6
)

// Passkey is a key in an authenticator.
type Passkey struct {
	ID         []byte
	Domain     string
	UserHandle []byte
	// Count of signatures. It does not rise if NoCount is set.
	Count   uint32
	NoCount bool
	// Backup are flags that go into each answer.
	Backup byte
	key    *ecdsa.PrivateKey
}

// Answer is what is signed, and what is sent with it. A test may change it before.
type Answer struct {
	Type, Challenge, Origin string
	CrossOrigin             bool
	Domain                  string
	Flags                   byte
	Count                   uint32
	ID, UserHandle          []byte
	// Key in COSE's form, of a new passkey.
	Key []byte
	// Format and Statement of the attestation, in CBOR.
	Format, Statement string
	// Trailing follows the authenticator data.
	Trailing []byte
	// Sent changes what is sent, after it was signed.
	Sent func(authData, signature []byte)
}

// Authenticator answers pages of an origin.
type Authenticator struct {
	Origin   string
	Passkeys []*Passkey
	// Change is called for each answer. It may be nil.
	Change func(*Answer)
}

type options struct {
	Challenge string `json:"challenge"`
	RPID      string `json:"rpId"`
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	ExcludeCredentials []struct {
		ID string `json:"id"`
	} `json:"excludeCredentials"`
	AuthenticatorSelection struct {
		ResidentKey      string `json:"residentKey"`
		UserVerification string `json:"userVerification"`
	} `json:"authenticatorSelection"`
	UserVerification string `json:"userVerification"`
	Attestation      string `json:"attestation"`
}

// ErrExcluded is the error of Create if the authenticator has one of the credentials that the options exclude.
var ErrExcluded = errors.New("passkeytest: the authenticator has a passkey of this account")

var errOptions = errors.New("passkeytest: the options ask for no discoverable credential with a verified user and without attestation")

// Create makes a passkey for the options of a server, and returns the answer in JSON.
func (a *Authenticator) Create(text string) (string, error) {
	var o options
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return "", err
	}
	if o.AuthenticatorSelection.ResidentKey != "required" || o.AuthenticatorSelection.UserVerification != "required" || o.Attestation != "none" {
		return "", errOptions
	}
	for _, excluded := range o.ExcludeCredentials {
		for _, p := range a.Passkeys {
			if encode(p.ID) == excluded.ID {
				return "", ErrExcluded
			}
		}
	}
	user, err := base64.RawURLEncoding.DecodeString(o.User.ID)
	if err != nil {
		return "", err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return "", err
	}
	p := &Passkey{ID: make([]byte, 32), Domain: o.RP.ID, UserHandle: user, key: key}
	rand.Read(p.ID) //nolint:errcheck // never fails
	r := &Answer{Type: "webauthn.create", Challenge: o.Challenge, Origin: a.Origin, Domain: p.Domain, Flags: UserPresent | UserVerified | attested, ID: p.ID,
		Key: es256(public[1:33], public[33:]), Format: "none", Statement: "\xa0"}
	if a.Change != nil {
		a.Change(r)
	}
	p.Backup = r.Flags & (BackupEligible | BackedUp)
	p.Count = r.Count
	data := r.authData()
	data = append(data, make([]byte, 16)...) // of no make
	data = binary.BigEndian.AppendUint16(data, uint16(len(r.ID)))
	data = append(append(append(data, r.ID...), r.Key...), r.Trailing...)
	if r.Sent != nil {
		r.Sent(data, nil)
	}
	object := "\xa3" + cborText("fmt") + cborText(r.Format) + cborText("attStmt") + r.Statement + cborText("authData") + string(cborBytes(data))
	a.Passkeys = append(a.Passkeys, p)
	return r.sent(map[string]any{"attestationObject": encode([]byte(object)), "transports": []string{"internal"}})
}

// Get signs in with the latest passkey of the domain, and returns the answer in JSON.
func (a *Authenticator) Get(text string) (string, error) {
	var o options
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return "", err
	}
	if o.UserVerification != "required" {
		return "", errOptions
	}
	var p *Passkey
	for _, of := range a.Passkeys {
		if of.Domain == o.RPID {
			p = of
		}
	}
	if p == nil {
		return "", errors.New("passkeytest: there is no passkey of " + o.RPID)
	}
	if !p.NoCount {
		p.Count++
	}
	r := &Answer{Type: "webauthn.get", Challenge: o.Challenge, Origin: a.Origin, Domain: p.Domain, Flags: UserPresent | UserVerified | p.Backup, Count: p.Count, ID: p.ID, UserHandle: p.UserHandle}
	if a.Change != nil {
		a.Change(r)
	}
	data := append(r.authData(), r.Trailing...)
	hash := sha256.Sum256(r.clientData())
	sum := sha256.Sum256(append(data[:len(data):len(data)], hash[:]...))
	signature, err := p.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return "", err
	}
	if r.Sent != nil {
		r.Sent(data, signature)
	}
	return r.sent(map[string]any{"authenticatorData": encode(data), "signature": encode(signature), "userHandle": encode(r.UserHandle)})
}

func (r *Answer) clientData() []byte {
	raw, err := json.Marshal(map[string]any{"type": r.Type, "challenge": r.Challenge, "origin": r.Origin, "crossOrigin": r.CrossOrigin})
	if err != nil {
		panic(err) // text and a boolean
	}
	return raw
}

func (r *Answer) authData() []byte {
	domain := sha256.Sum256([]byte(r.Domain))
	return binary.BigEndian.AppendUint32(append(domain[:], r.Flags), r.Count)
}

func (r *Answer) sent(response map[string]any) (string, error) {
	response["clientDataJSON"] = encode(r.clientData())
	raw, err := json.Marshal(map[string]any{"id": encode(r.ID), "rawId": encode(r.ID), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{}})
	return string(raw), err
}

// es256 is a key in COSE's form: kty 2 (EC2), alg -7 (ES256), crv 1 (P-256), x and y.
func es256(x, y []byte) []byte {
	return append(append(append([]byte("\xa5\x01\x02\x03\x26\x20\x01\x21"), cborBytes(x)...), 0x22), cborBytes(y)...)
}

func cborBytes(b []byte) []byte {
	switch n := len(b); {
	case n < 24:
		return append([]byte{0x40 | byte(n)}, b...)
	case n < 256:
		return append([]byte{0x58, byte(n)}, b...)
	default:
		return append(binary.BigEndian.AppendUint16([]byte{0x59}, uint16(n)), b...)
	}
}

// cborText is a text of less than 24 bytes.
func cborText(s string) string { return string(rune(0x60|len(s))) + s }

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
