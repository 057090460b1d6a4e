package account_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/webhook"
)

func TestLoginWithACode(t *testing.T) {
	told := make(chan account.CodeMessage, 10)
	fails := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-fails:
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		default:
		}
		var m account.CodeMessage
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		told <- m
	}))
	defer server.Close()
	r := open(t, account.Config{CodeWebhook: webhook.Config{URL: server.URL, Secret: "a secret of the operator"}, LoginsPerMinute: 1000})
	u := r.people(1)[0]
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.RunCodes(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	ask := func() {
		t.Helper()
		if err := r.RequestCode(t.Context(), " @Person0 "); err != nil {
			t.Fatal(err)
		}
	}
	login := func(code, reason string) {
		t.Helper()
		s, err := r.LoginWithCode(t.Context(), &accountv1.LoginWithCodeRequest{Handle: "person0", Code: code})
		if reason == "" && (err != nil || s.User != uint64(u)) {
			t.Errorf("%v, %v", s, err)
		}
		if reason != "" {
			wants(t, code, err, errs.Unauthenticated, reason)
		}
	}
	if err := r.RequestCode(t.Context(), "nobody"); err != nil {
		t.Errorf("nobody is told from somebody: %v", err)
	}
	login("000000", "bad_code")
	ask()
	first := <-told
	if first.User.Handle != "person0" || first.User.ExternalID != "p0" || len(first.Code) != 6 || first.ValidSeconds < 1 || first.ValidSeconds > 600 {
		t.Errorf("%+v", first)
	}
	ask() // within the minute: none is sent
	login(first.Code, "")
	login(first.Code, "bad_code") // once

	r.clock.move(time.Minute)
	ask()
	second := <-told
	for range 5 {
		login("x"+second.Code[1:], "bad_code")
	}
	login(second.Code, "bad_code") // dead

	r.clock.move(time.Minute)
	ask()
	third := <-told
	r.clock.move(10 * time.Minute)
	login(third.Code, "bad_code") // too old

	fails <- struct{}{}
	ask()
	fourth := <-told // tried again
	login(fourth.Code, "")
	select {
	case m := <-told:
		t.Errorf("sent without being asked: %+v", m)
	default:
	}
}

func TestWithoutAWebhookThereAreNoCodes(t *testing.T) {
	r := open(t, account.Config{})
	r.people(1)
	wants(t, "a request", r.RequestCode(t.Context(), "person0"), errs.Denied, "no_codes")
	_, err := r.LoginWithCode(t.Context(), &accountv1.LoginWithCodeRequest{Handle: "person0", Code: "000000"})
	wants(t, "a login", err, errs.Unauthenticated, "bad_code")
	if err := r.RunCodes(ended(t)); err != nil {
		t.Error(err)
	}
}

func ended(t *testing.T) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}
