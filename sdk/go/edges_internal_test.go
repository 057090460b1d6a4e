package rialto

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// putNetwork is a network without connections, whose hosts do what is given. It notes which were asked.
type putNetwork struct {
	does  map[string]func(r *http.Request) (*http.Response, error)
	asked []string
}

func (n *putNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	n.asked = append(n.asked, r.Method+" "+r.URL.Host)
	return n.does[r.URL.Host](r)
}

func answers(status int, text string) func(r *http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return nil, err
			}
		}
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

// putEdges are the edges https://a and https://b of https://own.
func putEdges(n *putNetwork) (*edges, *http.Client) {
	client := &http.Client{Transport: n}
	e := newEdges(&Config{URL: "https://own", HTTP: client})
	e.list, e.askAt = []string{"https://a", "https://b"}, time.Now().Add(time.Hour)
	return e, client
}

const partAddress = "https://own/v1/media/7/parts/2?size=4&exp=1&sig=a"

// TestEdgesFailAtOneUse: an edge that takes no uploads is still read from, and the other way round. One that has too many uploads is asked again for the next part.
func TestEdgesFailAtOneUse(t *testing.T) {
	ok, busy, fails := answers(http.StatusOK, ""), answers(http.StatusServiceUnavailable, `{"code":"unavailable","reason":"busy"}`), answers(http.StatusServiceUnavailable, `{"code":"unavailable","reason":"storage"}`)
	n := &putNetwork{does: map[string]func(r *http.Request) (*http.Response, error){"a": busy, "b": ok, "own": ok}}
	e, client := putEdges(n)
	expect := func(send bool, want ...string) {
		t.Helper()
		n.asked = nil
		var res *http.Response
		var err error
		if send {
			res, err = e.put(t.Context(), client, partAddress, []byte("part"), http.Header{})
		} else {
			res, err = e.get(t.Context(), client, partAddress)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(n.asked, want) {
			t.Errorf("asked are %v, want %v", n.asked, want)
		}
	}
	expect(true, "PUT a", "PUT b")
	expect(true, "PUT a", "PUT b")
	n.does["a"] = fails
	expect(true, "PUT a", "PUT b")
	expect(true, "PUT b")
	n.does["a"] = ok
	expect(false, "GET a")
	n.does["a"] = busy // a reader is not sent elsewhere again and again
	expect(false, "GET a", "GET b")
	expect(false, "GET b")
	n.does["b"] = fails
	expect(false, "GET b", "GET own")
	n.does["b"] = ok
	expect(true, "PUT b")
}

// TestSlowUploadsAreSentOnce: an edge may take half a minute for more bytes, and two minutes and a half after the last one; then another is asked.
func TestSlowUploadsAreSentOnce(t *testing.T) {
	for _, c := range []struct {
		name          string
		pause, answer time.Duration
		want          []string
	}{
		{"an edge in time", 29 * time.Second, 149 * time.Second, []string{"PUT a"}},
		{"an edge that takes no more", 31 * time.Second, 0, []string{"PUT a", "PUT b"}},
		{"an edge that does not answer", time.Second, 151 * time.Second, []string{"PUT a", "PUT b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wait := func(r *http.Request, after time.Duration) error {
					select {
					case <-r.Context().Done():
						return r.Context().Err()
					case <-time.After(after):
						return nil
					}
				}
				slow := func(r *http.Request) (*http.Response, error) {
					for range 4 {
						_, err := r.Body.Read(make([]byte, 1))
						if err = errors.Join(err, wait(r, c.pause)); err != nil {
							return nil, err
						}
					}
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, wait(r, c.answer-c.pause)
				}
				n := &putNetwork{does: map[string]func(r *http.Request) (*http.Response, error){"a": slow, "b": answers(http.StatusOK, "")}}
				e, client := putEdges(n)
				res, err := e.put(t.Context(), client, partAddress, []byte("part"), http.Header{})
				if err != nil || !slices.Equal(n.asked, c.want) {
					t.Fatalf("asked are %v, %v; want %v", n.asked, err, c.want)
				}
				if err := res.Body.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestLateReadsOfUploads: net/http may read a body after its answer. That does not end the reading of the answer.
func TestLateReadsOfUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent *http.Request
		early := func(r *http.Request) (*http.Response, error) {
			sent = r
			return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r}, nil
		}
		e, client := putEdges(&putNetwork{does: map[string]func(r *http.Request) (*http.Response, error){"a": early}})
		res, err := e.put(t.Context(), client, partAddress, []byte("part"), http.Header{})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if n, err := sent.Body.Read(make([]byte, 1)); n != 1 || err != nil {
				t.Errorf("%d bytes were read, %v", n, err)
			}
			time.Sleep(time.Hour)
		}
		if err := sent.Context().Err(); err != nil {
			t.Errorf("a late read ends the request: %v", err)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}
