package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

// Issuer of tokens that are accepted beside our own: an app's own login. Give exactly one of secret, jwks and introspection.
type Issuer struct {
	// Name as in the tokens' iss.
	Name string `yaml:"name"`
	// Audience that tokens must name in aud.
	Audience string `yaml:"audience"`
	// Secret shared with the app, at least 32 bytes: tokens are signed with HS256.
	Secret string `yaml:"secret"`
	// JWKS is the file or the https URL of the issuer's public keys: tokens are signed with RS256, ES256 or EdDSA.
	JWKS string `yaml:"jwks"`
	// Introspection is the https URL that is asked about opaque tokens (RFC 7662). One issuer may have it.
	Introspection string `yaml:"introspection"`
	// ClientID and ClientSecret are shown to Introspection.
	ClientID     string `yaml:"client_id"`
	ClientSecret string `yaml:"client_secret"`
	// UserClaim has the user's id in the app: text, or a whole number; default sub. The user's external id is NAME:ID.
	UserClaim string `yaml:"user_claim"`
	// DeviceClaim tells a user's devices apart; default device. Messages of a token without it are named by client_msg_id.
	DeviceClaim string `yaml:"device_claim"`
	// NameClaim has the name that a new user shows; default name.
	NameClaim string `yaml:"name_claim"`
}

const (
	maxForeignToken = 8 << 10 // bytes
	maxExternal     = 128     // bytes
	leeway          = 30 * time.Second
)

// issuers verify foreign tokens.
type issuers struct {
	named  map[string]*issuer
	opaque *introspector // nil without one
	clock  clock.Clock
}

type issuer struct {
	Issuer
	secret []byte
	keys   *keySet
}

// stranger is who a foreign token speaks of.
type stranger struct {
	external, device, name string
	issued, ends           time.Time // issued is zero where the token does not say
}

func newIssuers(list []Issuer, c clock.Clock) (*issuers, error) {
	s := &issuers{named: map[string]*issuer{}, clock: c}
	var faults []error
	for n, i := range list {
		if err := s.add(i); err != nil {
			faults = append(faults, fmt.Errorf("issuer %d (%q): %w", n+1, i.Name, err))
		}
	}
	// Two issuers must never give one external id to two users.
	for a := range s.named {
		for b := range s.named {
			if strings.HasPrefix(b, a+":") {
				faults = append(faults, fmt.Errorf("issuers %q and %q: no name may go on from another with a colon", a, b))
			}
		}
	}
	return s, errors.Join(faults...)
}

func (s *issuers) add(i Issuer) (err error) {
	for field, value := range map[*string]string{&i.UserClaim: "sub", &i.DeviceClaim: "device", &i.NameClaim: "name"} {
		if *field == "" {
			*field = value
		}
	}
	given := 0
	for _, v := range []string{i.Secret, i.JWKS, i.Introspection} {
		if v != "" {
			given++
		}
	}
	switch {
	case i.Name == "" || len(i.Name) > maxExternal/2:
		return fmt.Errorf("name has 1 to %d bytes", maxExternal/2)
	case i.Name == "rialto":
		return errors.New("this name is the server's own")
	case s.named[i.Name] != nil:
		return errors.New("this name is given twice")
	case given != 1:
		return errors.New("give exactly one of secret, jwks and introspection")
	case i.Audience == "" && i.Introspection == "":
		return errors.New("audience is missing: a token for another service would be good here")
	case i.Secret != "" && len(i.Secret) < 32:
		return errors.New("secret has at least 32 bytes")
	case i.Introspection != "" && s.opaque != nil:
		return errors.New("one issuer may have introspection")
	}
	it := &issuer{Issuer: i, secret: []byte(i.Secret)}
	s.named[i.Name] = it
	if i.JWKS != "" {
		it.keys, err = newKeySet(i.JWKS, s.clock)
	}
	if i.Introspection != "" {
		if err := checkURL(i.Introspection); err != nil {
			return err
		}
		s.opaque = newIntrospector(it, s.clock)
	}
	return err
}

// checkURL wants https, or a server on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("this is not a URL without credentials in it")
	}
	host := u.Hostname()
	if u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || host == "127.0.0.1" || host == "::1") {
		return nil
	}
	return errors.New("the URL begins with https://")
}

// verify gives whom a foreign token speaks of. ours is true where the token names no issuer of these.
func (s *issuers) verify(ctx context.Context, token string) (who stranger, ours bool, err error) {
	if len(s.named) == 0 || len(token) > maxForeignToken {
		return stranger{}, true, nil
	}
	if strings.Count(token, ".") != 2 {
		if s.opaque == nil || token == "" {
			return stranger{}, true, nil
		}
		who, err = s.opaque.ask(ctx, token)
		return who, false, err
	}
	unverified := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(token, &unverified); err != nil {
		return stranger{}, true, nil
	}
	name, _ := unverified["iss"].(string)
	i := s.named[name]
	if i == nil {
		return stranger{}, true, nil
	}
	if i.Introspection != "" { // this issuer's opaque tokens happen to look like others
		who, err = s.opaque.ask(ctx, token)
		return who, false, err
	}
	who, err = s.signed(ctx, i, token)
	return who, false, err
}

// signed verifies a token by its issuer's keys.
func (s *issuers) signed(ctx context.Context, i *issuer, token string) (who stranger, err error) {
	claims := jwt.MapClaims{}
	var unreachable error // an issuer whose keys cannot be had is not the token's fault
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
		return stranger{}, unreachable
	}
	if err == nil {
		who, err = i.stranger(claims)
	}
	if err != nil {
		return stranger{}, errs.Wrap(errs.Unauthenticated, auth.ErrToken.Reason, auth.ErrToken.Message, err)
	}
	return who, nil
}

// methods are bound to the kind of key, so that a public key never serves as a shared one.
func (i *issuer) methods() []string {
	if i.keys == nil {
		return []string{"HS256"}
	}
	return []string{"RS256", "ES256", "EdDSA"}
}

// stranger reads the claims that matter.
func (i *issuer) stranger(claims map[string]any) (stranger, error) {
	user := claimText(claims[i.UserClaim])
	who := stranger{external: i.Name + ":" + user, device: claimText(claims[i.DeviceClaim]), issued: claimTime(claims["iat"]), ends: claimTime(claims["exp"])}
	if user == "" || len(who.external) > maxExternal || !utf8.ValidString(user) || strings.ContainsRune(user, 0) {
		return stranger{}, fmt.Errorf("claim %s names no user", i.UserClaim)
	}
	if len(who.device) > maxExternal {
		return stranger{}, fmt.Errorf("claim %s is too long", i.DeviceClaim)
	}
	who.name, _ = claims[i.NameClaim].(string)
	return who, nil
}

// claimText gives a text, or a whole number as written.
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

// claimTime of seconds since 1970; zero for none.
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
