package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// eventStream receives Server-Sent Events.
type eventStream struct {
	*calls
	body io.ReadCloser
}

// dialEvents opens an event stream.
func dialEvents(ctx context.Context, client *http.Client, to destination) (*eventStream, error) {
	e := &eventStream{calls: newCalls(client, to)}
	opening := context.AfterFunc(ctx, func() { e.end(context.Cause(ctx)) })
	defer opening()
	r, err := http.NewRequestWithContext(e.ctx, http.MethodGet, to.endpoint.url+"/v1/events", http.NoBody)
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+to.token)
		if to.after > 0 {
			r.Header.Set("Last-Event-ID", strconv.FormatUint(to.after, 10))
		}
		var res *http.Response
		if res, err = client.Do(r); err == nil {
			e.body = res.Body
			err = checkStatus(res)
		}
	}
	if err != nil {
		if e.body != nil {
			_ = e.body.Close() // the first error is reported
		}
		_ = e.close() // it never fails
		return nil, fmt.Errorf("event stream: %w", err)
	}
	e.running.Go(func() { e.end(e.receive()) })
	return e, nil
}

func checkStatus(res *http.Response) error {
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return errBadToken
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("the server answered %s", res.Status)
	}
	return nil
}

// receive hands on the frames of the stream. Comments show that the server is there.
func (e *eventStream) receive() error {
	defer func() { _ = e.body.Close() }() // reading has ended
	lines := bufio.NewReader(e.body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return &lostError{cause: err}
		}
		var p []byte
		data, isData := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data: "))
		switch {
		case isData:
			if p, err = fromJSON(data); err != nil {
				return err
			}
		case line[0] != ':':
			continue
		}
		if err := e.hand(p); err != nil {
			return err
		}
	}
}
