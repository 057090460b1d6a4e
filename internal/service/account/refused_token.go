package account

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"golang.org/x/time/rate"
)

var (
	errUnknownIssuer = errors.New("no issuer of account.issuers has this name")
	errMalformed     = errors.New("its header or its claims cannot be decoded")
	errNoIssuer      = errors.New("it names no issuer (iss)")
	errTooLong       = fmt.Errorf("it is longer than %d bytes", maxExternalToken)
	errNotActive     = errors.New("the issuer says that it is not active")
	errSessionEnded  = errors.New("it was issued before the session of its device ended, or has no issue time")
)

// maxLoggedClaim bounds the logged part of an unverified claim, in bytes.
const maxLoggedClaim = 100

// newRefusalLog limits log lines about refused tokens, which anyone can cause.
func newRefusalLog() rate.Sometimes { return rate.Sometimes{First: 20, Interval: 10 * time.Second} }

// logRefused logs for the operator why an external token was rejected; its sender only gets that it is invalid. Tokens are secrets,
// so only their unverified issuer is logged.
func (s *Service) logRefused(token string, cause error) {
	s.refusals.Do(func() {
		issuer := claimedIssuer(token)
		s.deps.Logger.Info("a token was rejected", "issuer", issuer[:min(len(issuer), maxLoggedClaim)], "cause", cause)
	})
}

// causeOf returns the cause of a rejection, or nil if the token is not the cause of the error.
func causeOf(err error) error {
	if !errs.Is(err, errs.Unauthenticated) {
		return nil
	}
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return errNotActive
}

// claims decodes the claims of a JWT with any algorithm, without verification. ok is false if the token is not a JWT.
func claims(token string) (issuer string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	var header, body map[string]any
	for i, into := range []*map[string]any{&header, &body} {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(b, into) != nil {
			return "", false
		}
	}
	issuer, _ = body["iss"].(string)
	return issuer, true
}

// claimedIssuer returns the issuer of a JWT, or nothing for other tokens.
func claimedIssuer(token string) string {
	if len(token) > maxExternalToken {
		return ""
	}
	issuer, _ := claims(token)
	return issuer
}

// causeOfExternal returns the cause of rejecting a token that belongs to no configured issuer. It is nil for a token of this server, and for
// one that does not look like a JWT: these do not concern the operator.
func causeOfExternal(token string) error {
	if strings.Count(token, ".") != 2 {
		return nil
	}
	if len(token) > maxExternalToken {
		return errTooLong
	}
	switch issuer, ok := claims(token); {
	case !ok:
		return errMalformed
	case issuer == "":
		return errNoIssuer
	case issuer != auth.Issuer:
		return errUnknownIssuer
	}
	return nil
}
