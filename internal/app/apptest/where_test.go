package apptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/tool/where"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// stepsOf returns the kinds of steps that have a time and the name of a node, in order.
func stepsOf(list []*chatv1.TraceStep, device uint64) (kinds []string) {
	for _, s := range list {
		if s.TimeUs != 0 && s.Node != "" && (device == 0 || s.Device == 0 || s.Device == device) {
			kinds = append(kinds, strings.ToLower(strings.TrimPrefix(s.Kind.String(), "TRACE_STEP_KIND_")))
		}
	}
	return kinds
}

// The whole way of a message, whichever nodes it takes: sent on a socket, pushed to a device, acknowledged and read; and then recalled.
func TestWhereIsMyMessage(t *testing.T) {
	var database []string
	h := apptest.Open(t, func(c *config.Config) {
		if database = []string{"--data", c.Data}; c.Postgres != "" {
			database = []string{"--postgres", c.Postgres}
		}
	})
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	absent := h.Login(t, "bobo")
	socket, _ := bob.Socket(t, "rialto.v1.proto")
	h.Send(t, ann, c, "0", "before") // from here on the socket is pushed what comes
	socket.Until(func(f *gatewayv1.ServerFrame) bool { return len(f.Events) > 0 })
	sent := h.Send(t, ann, c, "1", "a secret")
	socket.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if e.GetMessage().GetSeq() == sent.Seq {
				socket.Write(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Epoch: e.Epoch, Seq: e.Seq}})
				return true
			}
		}
		return false
	})
	_, err := h.Chat().Mark(t.Context(), apptest.As(bob, &chatv1.MarkRequest{Conversation: c, ReadSeq: sent.Seq}))
	must(t, err)

	key := func(flags ...string) string {
		var out, errs strings.Builder
		if code := app.AdminMain(t.Context(), slices.Concat([]string{"key", "create", "--name", "trace"}, flags, database), &out, &errs); code != 0 {
			t.Fatalf("exit code %d, want 0: %s", code, errs.String())
		}
		return strings.TrimSpace(out.String())
	}
	audit := key("--audit")
	traces := chatv1connect.NewMessageTraceServiceClient(h.HTTP, h.URL)
	ask := func(key string) (*connect.Response[chatv1.MessageTrace], error) {
		operator := &apptest.Person{Session: &accountv1.Session{AccessToken: key}}
		return traces.TraceMessage(t.Context(), apptest.As(operator, &chatv1.TraceMessageRequest{Id: sent.Id}))
	}
	var trace *chatv1.MessageTrace
	eventually.True(t, "the trace has all steps", func() bool {
		r, err := ask(audit)
		must(t, err)
		trace = r.Msg
		for _, m := range trace.Members {
			if m.User == bob.User {
				// The stores are read before the nodes are asked, so a step may be newer than what the stores say.
				stored := slices.ContainsFunc(m.Devices, func(d *chatv1.TracedDevice) bool { return d.Device == bob.Device && d.Confirmed })
				return stored && m.Read && slices.Contains(stepsOf(m.Steps, bob.Device), "confirmed") && slices.Contains(stepsOf(m.Steps, bob.Device), "read") && trace.FanOut == chatv1.TraceFanOut_TRACE_FAN_OUT_DONE
			}
		}
		return false
	})
	if trace.Conversation != c || trace.Seq != sent.Seq || trace.Sender != ann.User || trace.Large || trace.Cold || trace.Control || len(trace.Members) != 2 || len(trace.Nodes) != 1+len(h.Others) {
		t.Errorf("the trace is %v, want an ordinary message of ann at seq %d, with 2 members and all nodes", trace, sent.Seq)
	}
	if got := stepsOf(trace.Steps, 0); len(got) < 4 || got[0] != "accepted" || got[1] != "committed" || got[2] != "fanned_out" || !slices.Contains(got, "pushed") { // each inbox is fanned out to by itself
		t.Errorf("the steps are %q", got)
	}
	for _, m := range trace.Members {
		if m.InStream != chatv1.TraceInStream_TRACE_IN_STREAM_YES || m.Position.GetSeq() == 0 {
			t.Errorf("the stream of %d: %v", m.User, m)
		}
		if m.User != bob.User {
			continue
		}
		got := stepsOf(m.Steps, bob.Device)
		slices.Sort(got[2:]) // a device may acknowledge after its user has read
		if !slices.Equal(got, []string{"fanned_out", "pushed", "confirmed", "read"}) || !m.Delivered || !m.Read {
			t.Errorf("the steps of the reader are %q, %v", got, m)
		}
		for _, d := range m.Devices {
			if d.Type != "test" || d.Confirmed != (d.Device == bob.Device) || d.Device != bob.Device && d.Device != absent.Device {
				t.Errorf("a device is %v", d)
			}
		}
	}
	if _, err := ask(key()); connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "audit") {
		t.Errorf("a key without the permission: %v", err)
	}
	if _, err := ask(bob.AccessToken); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("a user: %v", err)
	}

	_, err = h.Chat().Send(t.Context(), apptest.As(ann, &chatv1.SendRequest{Conversation: c, ClientMsgId: "2", Content: &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: sent.Seq}}}}}))
	must(t, err)
	run := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := where.Main(t.Context(), append(args, "--url", h.URL), &out, &errs); code != want {
			t.Errorf("where %q ends with %d: %s", args, code, errs.String())
		}
		return out.String() + errs.String()
	}
	text := run(0, fmt.Sprint(c, "/", sent.Seq), "--key", audit)
	for _, part := range []string{sent.Id, "recalled", fmt.Sprint("by user ", ann.User), fmt.Sprintf("device %d (test)", bob.Device), fmt.Sprint("not confirmed by device ", absent.Device), "remembers commits and fan-out since"} {
		if !strings.Contains(text, part) {
			t.Errorf("the command does not say %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the command shows the content:\n%s", text)
	}
	if text := run(0, sent.Id, "--key", audit, "--json", "--user", fmt.Sprint(bob.User)); !strings.Contains(text, `"conversation":"`+fmt.Sprint(c)+`"`) || strings.Contains(text, fmt.Sprintf(`"user":"%d","inStream"`, ann.User)) {
		t.Errorf("as JSON: %s", text)
	}
	if text := run(1, "BD8U-FCQJ-LDC5-L789", "--key", audit); !strings.Contains(text, "no event stream names it") {
		t.Errorf("a message that does not exist: %s", text)
	}
	run(2, "7/x", "--key", audit)
	run(2, "--key", audit)
	run(2, sent.Id)
}
