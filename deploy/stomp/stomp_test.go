package stomp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-stomp/stomp/v3"
	"github.com/rialto-im/rialto/deploy/nodetest"
)

// call makes a call of the API as JSON.
func call(t *testing.T, n *nodetest.Node, token, method string, in map[string]any) map[string]any {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/rialto."+method, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", method, answer.StatusCode, text, err)
	}
	return out
}

// person is a user, who connects by go-stomp.
type person struct {
	t         *testing.T
	address   string
	id, token string
}

func (p *person) connect() *stomp.Conn {
	p.t.Helper()
	c, err := stomp.Dial("tcp", p.address, stomp.ConnOpt.Login("any", p.token), stomp.ConnOpt.HeartBeat(10*time.Second, 10*time.Second))
	if err != nil {
		p.t.Fatal(err)
	}
	if c.Version() != stomp.V12 {
		p.t.Errorf("the version is %v", c.Version())
	}
	return c
}

// texts returns the next texts of a subscription, and acknowledges their messages, and what comes between them.
func texts(t *testing.T, c *stomp.Conn, s *stomp.Subscription, count int) (list []string) {
	t.Helper()
	for len(list) < count {
		select {
		case m := <-s.C:
			if m == nil || m.Err != nil {
				t.Fatalf("after %q: %v", list, m)
			}
			if err := c.Ack(m); err != nil {
				t.Fatal(err)
			}
			if m.ContentType == "text/plain" {
				list = append(list, string(m.Body))
			}
		case <-time.After(nodetest.Patience):
			t.Fatalf("only %q came", list)
		}
	}
	return list
}

// A client that we did not write sends with receipts, subscribes, acknowledges, goes and comes back: it gets each message, in order, and after its return
// those that it has not acknowledged.
func TestGoStomp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	n := nodetest.Start(t, exec.Command(nodetest.Static(t), "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--set", "stomp.listen="+address, "--set", "log.level=warn"))
	register := func(name string) *person {
		s := call(t, n, "", "account.v1.AccountService/Register", map[string]any{"handle": name, "password": "a good password", "displayName": name})
		return &person{t, address, s["user"].(string), s["accessToken"].(string)}
	}
	alice, bob := register("alice"), register("bob")
	conversation := "/conversation/" + call(t, n, alice.token, "chat.v1.ChatService/OpenDirect", map[string]any{"user": bob.id})["id"].(string)

	b := bob.connect()
	s, err := b.Subscribe("/stream", stomp.AckClientIndividual, stomp.SubscribeOpt.Header("after", "0"))
	if err != nil {
		t.Fatal(err)
	}
	a := alice.connect()
	want := []string{"one", "two: 二\n\\", strings.Repeat("long 👋🏽 ", 2000)}
	for i, text := range want {
		// Receipt makes Send wait for the acknowledgement.
		if err := a.Send(conversation, "text/plain", []byte(text), stomp.SendOpt.Receipt, stomp.SendOpt.Header("client-msg-id", fmt.Sprint("m:", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := texts(t, b, s, len(want)); !slices.Equal(got, want) {
		t.Errorf("bob got %.100q", got)
	}
	if err := b.Disconnect(); err != nil {
		t.Errorf("DISCONNECT with a receipt: %v", err)
	}
	// A retry has the first receipt, and is stored once.
	for _, text := range []string{want[0], "while away"} {
		id := "m:0"
		if text != want[0] {
			id = "m:3"
		}
		if err := a.Send(conversation, "text/plain", []byte(text), stomp.SendOpt.Receipt, stomp.SendOpt.Header("client-msg-id", id)); err != nil {
			t.Fatal(err)
		}
	}
	b = bob.connect()
	if s, err = b.Subscribe(conversation, stomp.AckClient); err != nil {
		t.Fatal(err)
	}
	got := texts(t, b, s, 1)
	for got[len(got)-1] != "while away" { // what was acknowledged is stored within seconds
		got = append(got, texts(t, b, s, 1)...)
	}
	if all := append(slices.Clone(want), "while away"); !slices.Equal(got, all[len(all)-len(got):]) {
		t.Errorf("after his return bob got %.100q", got)
	}
	if err := s.Unsubscribe(); err != nil {
		t.Error(err)
	}
	// A refusal has its reason, and ends the connection.
	err = a.Send("/conversation/1", "text/plain", []byte("x"), stomp.SendOpt.Receipt)
	if e := (*stomp.Error)(nil); !errors.As(err, &e) && (err == nil || !strings.Contains(err.Error(), "conversation")) {
		t.Errorf("a message to a conversation that is not there: %v", err)
	}
	if _, err := stomp.Dial("tcp", address, stomp.ConnOpt.Login("any", "no token")); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("a bad token: %v", err)
	}
}
