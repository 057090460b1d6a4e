package apptest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// EventStream reads GET /v1/events as the standard of Server-Sent Events describes it.
type EventStream struct {
	// LastID is the id of the last message that had one.
	LastID string
	// RetryMs is the last time to reconnect that the server has told; 0 for none.
	RetryMs  string
	response *http.Response
	lines    *bufio.Reader
}

// Events opens an event stream. The header has the credentials. Close ends it.
func (h *Server) Events(ctx context.Context, query string, header http.Header) (*EventStream, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+"/v1/events"+query, http.NoBody)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	res, err := h.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		_ = res.Body.Close() // the status is the error
		return nil, fmt.Errorf("answered %s, %s", res.Status, kind)
	}
	return &EventStream{response: res, lines: bufio.NewReader(res.Body), LastID: header.Get("Last-Event-ID")}, nil
}

// Next returns the frame of the next message.
func (s *EventStream) Next() (*gatewayv1.ServerFrame, error) {
	data := ""
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name == "id":
			s.LastID = value
		case name == "retry":
			s.RetryMs = value
		case name == "data":
			data += value
		case name == "" && data != "":
			f := &gatewayv1.ServerFrame{}
			return f, protojson.Unmarshal([]byte(data), f)
		}
	}
}

// Close ends the stream.
func (s *EventStream) Close() error { return s.response.Body.Close() }
