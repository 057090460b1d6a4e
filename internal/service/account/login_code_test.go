package account_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

func TestLoginWithACode(t *testing.T) {
	sent := make(chan account.CodeMessage, 10)
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
		sent <- m
	}))
	defer server.Close()
	r := open(t, account.Config{CodeWebhook: webhook.Config{URL: server.URL, Secret: "a secret of the operator"}, LoginsPerMinute: 1000})
	u := r.newUsers(1)[0]
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.RunCodes(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	requestCode := func() {
		t.Helper()
		if err := r.RequestCode(t.Context(), " @Person0 "); err != nil {
			t.Fatal(err)
		}
	}
	login := func(code, reason string) {
		t.Helper()
		s, err := r.LoginWithCode(t.Context(), &accountv1.LoginWithCodeRequest{Handle: "person0", Code: code})
		if reason == "" && (err != nil || s.User != uint64(u)) {
			t.Errorf("the session is %v (%v)", s, err)
		}
		if reason != "" {
			wantError(t, code, err, errs.Unauthenticated, reason)
		}
	}
	if err := r.RequestCode(t.Context(), "nobody"); err != nil {
		t.Errorf("a code for an unknown handle returned %v", err)
	}
	login("000000", "bad_code")
	requestCode()
	first := <-sent
	if first.User.Handle != "person0" || first.User.ExternalID != "p0" || len(first.Code) != 6 || first.ValidSeconds < 1 || first.ValidSeconds > 600 {
		t.Errorf("the first code is %+v", first)
	}
	requestCode() // within the minute: none is sent
	login(first.Code, "")
	login(first.Code, "bad_code") // a code works once

	r.clock.advance(time.Minute)
	requestCode()
	second := <-sent
	for range 5 {
		login("x"+second.Code[1:], "bad_code")
	}
	login(second.Code, "bad_code") // a code is void after too many attempts

	r.clock.advance(time.Minute)
	requestCode()
	third := <-sent
	r.clock.advance(10 * time.Minute)
	login(third.Code, "bad_code") // expired

	fails <- struct{}{}
	requestCode()
	fourth := <-sent // a retry after the failure
	login(fourth.Code, "")
	select {
	case m := <-sent:
		t.Errorf("a code was sent without a request: %+v", m)
	default:
	}
}

func TestCodesNeedAWebhook(t *testing.T) {
	r := open(t, account.Config{})
	r.newUsers(1)
	if r.LoginMethods(account.Page{}).Code {
		t.Error("the server offers codes that it cannot send")
	}
	wantError(t, "a request", r.RequestCode(t.Context(), "person0"), errs.Denied, "no_codes")
	_, err := r.LoginWithCode(t.Context(), &accountv1.LoginWithCodeRequest{Handle: "person0", Code: "000000"})
	wantError(t, "a login", err, errs.Unauthenticated, "bad_code")
	if err := r.RunCodes(ended(t)); err != nil {
		t.Error(err)
	}
}

func ended(t *testing.T) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}
