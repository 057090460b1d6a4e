package terminal

import (
	_ "embed"
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// chineseRefusals are lines of a reason or a code of the server, a tab, and what the web app says of it in Chinese. make generate makes the file.
//
//go:embed refusals_zh.txt
var chineseRefusals string

// serverRefusal is what the server says when it refuses something: the user's language has a text of its own for what a person can meet.
type serverRefusal struct {
	code, reason, message string
	retry                 time.Duration
}

// refusalOf returns what the server has said; ok is false if the error is not an answer of the server.
func refusalOf(err error) (r serverRefusal, ok bool) {
	var refused *rialto.SendError
	if errors.As(err, &refused) {
		return serverRefusal{refused.Code, refused.Reason, refused.Message, 0}, true
	}
	var c *connect.Error
	if !errors.As(err, &c) || !connect.IsWireError(err) && c.Code() == connect.CodeUnavailable {
		return serverRefusal{}, false
	}
	return serverRefusal{c.Code().String(), rialto.Reason(err), c.Message(), rialto.RetryAfter(err)}, true
}

// refusalIn returns what an answer within a connection says.
func refusalIn(e *gatewayv1.Error) serverRefusal {
	return serverRefusal{e.GetCode(), e.GetReason(), e.GetMessage(), time.Duration(e.GetRetryMs()) * time.Millisecond}
}

// text is what the user reads.
func (r serverRefusal) text() string {
	if !speaksChinese() {
		return plain(r.message)
	}
	return plain(r.inChinese())
}

// inChinese is the text of the reason, or else of the code. What only programs meet is as the server says it.
func (r serverRefusal) inChinese() string {
	for _, name := range []string{r.reason, r.code} {
		if text := chineseOf(name); text != "" {
			return strings.NewReplacer("{message}", r.message, "{when}", comes(time.Now().Add(r.retry), time.Now())).Replace(text)
		}
	}
	return r.message
}

// chineseOf returns the Chinese text of a reason or a code; empty if there is none.
func chineseOf(name string) string {
	for line := range strings.Lines(chineseRefusals) {
		if of, text, _ := strings.Cut(line, "\t"); of == name {
			return strings.TrimSuffix(text, "\n")
		}
	}
	return ""
}

// comes is when something will be: a time of today, or a day with it.
func comes(at, now time.Time) string {
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}
