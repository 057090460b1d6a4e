package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// Issuer of tokens that are accepted beside this server's own: an app's own login. Give exactly one of secret, jwks and introspection.
type Issuer struct {
	// Name as in the tokens' iss.
	Name string `yaml:"name"`
	// Audience that tokens must name in aud.
	Audience string `yaml:"audience"`
	// Secret shared with the app, at least 32 bytes: tokens are signed with HS256.
	Secret string `yaml:"secret"`
	// JWKS is the file or the https URL of the issuer's public keys: tokens are signed with RS256, ES256 or EdDSA.
	JWKS string `yaml:"jwks"`
	// Introspection is the https URL of the endpoint that verifies opaque tokens (RFC 7662). At most one issuer may have it.
	Introspection string `yaml:"introspection"`
	// ClientID and ClientSecret authenticate this server to Introspection.
	ClientID     string `yaml:"client_id"`
	ClientSecret string `yaml:"client_secret"`
	// AllowPrivate lets the host in JWKS or Introspection resolve to an address of a private network. An IP address needs no permission.
	AllowPrivate bool `yaml:"allow_private"`
	// UserClaim has the user's id in the app: text, or a whole number; default sub. The user's external id is NAME:ID.
	UserClaim string `yaml:"user_claim"`
	// DeviceClaim distinguishes a user's devices; default device. Messages of a token without it need a client_msg_id.
	DeviceClaim string `yaml:"device_claim"`
	// NameClaim has the display name of a new user; default name.
	NameClaim string `yaml:"name_claim"`
}

const (
	maxExternalToken = 8 << 10 // bytes
	maxExternalID    = 128     // bytes
	leeway           = 30 * time.Second
)

// issuers verify external tokens.
type issuers struct {
	named  map[string]*issuer
	opaque *introspector // nil without one
	calls  *outgoing.Calls
	clock  clock.Clock
}

type issuer struct {
	Issuer
	secret []byte
	keys   *keySet
	calls  *outgoing.Calls
}

// externalIdentity is the user and device of an external token.
type externalIdentity struct {
	externalID, device, name string
	issued, expires          time.Time // issued is zero if the token does not say
}

func newIssuers(list []Issuer, calls *outgoing.Calls, c clock.Clock) (*issuers, error) {
	s := &issuers{named: map[string]*issuer{}, calls: calls, clock: c}
	var problems []error
	for n, i := range list {
		for _, problem := range s.add(i) {
			problems = append(problems, fmt.Errorf("account.issuers: issuer %d (%q): %w", n+1, i.Name, problem))
		}
	}
	// Two issuers must never yield the same external id for two users.
	for a := range s.named {
		for b := range s.named {
			if strings.HasPrefix(b, a+":") {
				problems = append(problems, fmt.Errorf("account.issuers: %q and %q: no name may be the beginning of another followed by a colon", a, b))
			}
		}
	}
	return s, errors.Join(problems...)
}

// add adds an issuer, and returns all problems of its configuration.
func (s *issuers) add(i Issuer) []error {
	for field, value := range map[*string]string{&i.UserClaim: "sub", &i.DeviceClaim: "device", &i.NameClaim: "name"} {
		if *field == "" {
			*field = value
		}
	}
	methods := 0
	for _, v := range []string{i.Secret, i.JWKS, i.Introspection} {
		if v != "" {
			methods++
		}
	}
	var problems []error
	problem := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	problem(i.Name == "" || len(i.Name) > maxExternalID/2, "name has 1 to %d bytes", maxExternalID/2)
	problem(i.Name == "rialto", "this name is the server's own")
	problem(s.named[i.Name] != nil, "two issuers have this name")
	problem(methods != 1, "give exactly one of secret, jwks and introspection")
	problem(i.Audience == "" && i.Introspection == "", "audience is missing: a token for another service would be accepted here")
	problem(i.Secret != "" && len(i.Secret) < 32, "secret has at least 32 bytes")
	problem(i.Introspection != "" && s.opaque != nil, "one issuer may have introspection")
	it := &issuer{Issuer: i, secret: []byte(i.Secret), calls: s.calls}
	if i.JWKS != "" {
		var err error
		it.keys, err = newKeySet(it, s.clock)
		problem(err != nil, "%w", err)
	}
	if i.Introspection != "" && s.opaque == nil {
		var err error
		s.opaque, err = newIntrospector(it, s.clock)
		problem(err != nil, "%w", err)
	}
	if i.Name != "" && s.named[i.Name] == nil {
		s.named[i.Name] = it
	}
	return problems
}

// verify returns the identity in an external token. isOwn is true if the token names none of these issuers.
func (s *issuers) verify(ctx context.Context, token string) (who externalIdentity, isOwn bool, err error) {
	if len(s.named) == 0 || len(token) > maxExternalToken {
		return externalIdentity{}, true, nil
	}
	if strings.Count(token, ".") != 2 {
		if s.opaque == nil || token == "" {
			return externalIdentity{}, true, nil
		}
		who, err = s.opaque.introspect(ctx, token)
		return who, false, err
	}
	i := s.named[claimedIssuer(token)]
	if i == nil {
		return externalIdentity{}, true, nil
	}
	if i.Introspection != "" { // this issuer's opaque tokens may look like a JWT
		who, err = s.opaque.introspect(ctx, token)
		return who, false, err
	}
	who, err = s.verifySigned(ctx, i, token)
	return who, false, err
}

// verifySigned verifies a token with its issuer's keys.
func (s *issuers) verifySigned(ctx context.Context, i *issuer, token string) (who externalIdentity, err error) {
	claims := jwt.MapClaims{}
	var unreachable error // if an issuer's keys are unavailable, the token may be valid
	_, err = jwt.NewParser(jwt.WithValidMethods(i.methods()), jwt.WithExpirationRequired(), jwt.WithIssuer(i.Name), jwt.WithAudience(i.Audience),
		jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(s.clock.Now), jwt.WithJSONNumber()).ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		if i.keys == nil {
			return i.secret, nil
		}
		kid, _ := t.Header["kid"].(string)
		key, err := i.keys.find(ctx, kid, t.Method.Alg())
		if err != nil && !errors.Is(err, errNoKey) {
			unreachable = err
		}
		return key, err
	})
	if unreachable != nil {
		return externalIdentity{}, unreachable
	}
	if err == nil {
		who, err = i.identity(claims)
	}
	if err != nil {
		return externalIdentity{}, errs.Wrap(errs.Unauthenticated, auth.ErrToken.Reason, auth.ErrToken.Message, err)
	}
	return who, nil
}

// methods are bound to the kind of key, so that a public key is never used as a shared secret.
func (i *issuer) methods() []string {
	if i.keys == nil {
		return []string{"HS256"}
	}
	return []string{"RS256", "ES256", "EdDSA"}
}

// identity reads the identity from a token's claims.
func (i *issuer) identity(claims map[string]any) (externalIdentity, error) {
	user := claimText(claims[i.UserClaim])
	who := externalIdentity{externalID: i.Name + ":" + user, device: claimText(claims[i.DeviceClaim]), issued: claimTime(claims["iat"]), expires: claimTime(claims["exp"])}
	if user == "" || len(who.externalID) > maxExternalID || !utf8.ValidString(user) || strings.ContainsRune(user, 0) {
		return externalIdentity{}, fmt.Errorf("claim %s has no user", i.UserClaim)
	}
	if len(who.device) > maxExternalID {
		return externalIdentity{}, fmt.Errorf("claim %s is too long", i.DeviceClaim)
	}
	who.name, _ = claims[i.NameClaim].(string)
	return who, nil
}

// claimText returns a text, or a whole number in its original form.
func claimText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return v.String()
		}
	}
	return ""
}

// claimTime converts seconds since 1970; zero for none.
func claimTime(v any) time.Time {
	n, ok := v.(json.Number)
	if !ok {
		return time.Time{}
	}
	f, err := n.Float64()
	if err != nil || f <= 0 || f > math.MaxInt32*100 {
		return time.Time{}
	}
	return time.UnixMilli(int64(f * 1000))
}
