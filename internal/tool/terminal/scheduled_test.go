package terminal

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

func TestTimesOfScheduledMessages(t *testing.T) {
	now := time.Date(2026, 11, 30, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-11-30 16:30", "90m": "2026-11-30 16:00", "14:31": "2026-11-30 14:31", "14:30": "2026-12-01 14:30", "00:00": "2026-12-01 00:00",
		"": "", "-2h": "", "0s": "", "24:00": "", "soon": "",
	} {
		at, err := parseSendTime(text, now)
		if got := at.Format("2006-01-02 15:04"); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}

// What is sent later is a text, or what some commands send. Others are refused, so that no command is sent as a text by mistake.
func TestContentsThatAreSentLater(t *testing.T) {
	for text, want := range map[string]string{
		" see you /later ": "see you /later", "//file x": "/file x", "/location 45.438 12.336 Rialto": "[location geo:45.43800,12.33600] Rialto",
		"/file": "! give a path", "/voice": "! give a path", "/album": "! give 1 to 10 paths", "/recall 1": "! what can be sent later", "/filed": "! what can be sent later",
	} {
		content, err := newScreen().laterContent(t.Context(), text)
		got := what(&chatv1.Message{Content: content})
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// lossy is a server that schedules messages, and whose first answer is lost.
type lossy struct {
	chatv1connect.UnimplementedChatServiceHandler
	ids []string
}

func (l *lossy) ScheduleMessage(_ context.Context, r *connect.Request[chatv1.ScheduleMessageRequest]) (*connect.Response[chatv1.ScheduledMessage], error) {
	if l.ids = append(l.ids, r.Msg.ClientMsgId); len(l.ids) == 1 {
		return nil, connect.NewError(connect.CodeUnavailable, nil)
	}
	return connect.NewResponse(&chatv1.ScheduledMessage{Id: 1, SendMs: r.Msg.SendMs}), nil
}

// A message is scheduled once although an answer is lost, since each try has its id.
func TestLostAnswersScheduleNothingTwice(t *testing.T) {
	l, mux := &lossy{}, http.NewServeMux()
	mux.Handle(chatv1connect.NewChatServiceHandler(l))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s := typing(t, "")
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.later(t.Context(), "2h hello"); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.ids) != 3 || l.ids[0] == "" || l.ids[1] != l.ids[0] || l.ids[2] == l.ids[0] {
		t.Errorf("two commands, whose first answer was lost, have the ids %q", l.ids)
	}
}
