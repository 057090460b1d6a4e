package push

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/SherClockHolmes/webpush-go"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
)

// keyOf derives the key pair of Web Push (VAPID) from the secret of a deployment. Browsers subscribe with the public key, so that it must not change.
func keyOf(secret []byte) (*ecdh.PrivateKey, error) {
	if len(secret) != sha256.Size {
		return nil, fmt.Errorf("push: the secret has %d bytes; it has %d", len(secret), sha256.Size)
	}
	for n := range byte(255) { // of 2^32 secrets, one is no key
		scalar := sha256.Sum256(append([]byte{n}, secret...))
		if key, err := ecdh.P256().NewPrivateKey(scalar[:]); err == nil {
			return key, nil
		}
	}
	return nil, errors.New("push: the secret gives no key")
}

func checkContact(contact string) error {
	if contact == "" || strings.HasPrefix(contact, "https://") || strings.Count(contact, "@") == 1 && !strings.ContainsAny(contact, " :/") {
		return nil
	}
	return errors.New("give an e-mail address such as ops@example.com, or an https URL")
}

// webPusher sends by Web Push.
type webPusher struct {
	poster          *egress.Poster
	private, public string
	contact         string
	clock           clock.Clock
}

func (s *Service) newWebPush() *webPusher {
	return &webPusher{poster: s.poster, private: base64.RawURLEncoding.EncodeToString(s.vapid.Bytes()), public: base64.RawURLEncoding.EncodeToString(s.vapid.PublicKey().Bytes()),
		contact: cmp.Or(s.config.Contact, "push@localhost"), clock: s.deps.Clock}
}

// Do sends a request of the library.
func (w *webPusher) Do(r *http.Request) (*http.Response, error) {
	a, err := w.poster.Do(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body))}, nil
}

func (w *webPusher) send(ctx context.Context, p *subscription, n *notification) result {
	payload, err := json.Marshal(n)
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	keys := webpush.Keys{Auth: base64.RawURLEncoding.EncodeToString(p.auth), P256dh: base64.RawURLEncoding.EncodeToString(p.p256dh)}
	res, err := webpush.SendNotificationWithContext(ctx, payload, &webpush.Subscription{Endpoint: p.token, Keys: keys}, &webpush.Options{HTTPClient: w, Subscriber: w.contact,
		TTL: int(maxAge.Seconds()), Urgency: webpush.UrgencyHigh, Topic: topicOf(n), VAPIDPublicKey: w.public, VAPIDPrivateKey: w.private})
	if err != nil {
		return unanswered(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return unanswered(err)
	}
	answer := egress.Answer{Header: res.Header}
	return resultOf(res.StatusCode, answer.RetryAfter(w.clock.Now()), string(body))
}

// topicOf is what a newer notification of the conversation replaces at the provider: at most 32 characters.
func topicOf(n *notification) string { return "c" + n.Conversation }

func (w *webPusher) close() { w.poster.Close() }
