package rpc_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// FuzzRequests makes any call with any bytes, in both encodings: each error is the caller's, never internal.
func FuzzRequests(f *testing.F) {
	h := newHarness(f)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	o := h.subject(p, "other")
	rows, calls := matrix(), h.Calls()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(calls)), func(n string) bool { return calls[n] != "users" })
	for n, name := range names {
		m := rows[name].request(o)
		text, err := protojson.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		bytes, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(n), true, text)
		f.Add(uint8(n), false, bytes)
	}
	f.Add(uint8(0), true, []byte(`{"conversation":"18446744073709551615","limit":4294967295,"page":"-1"}`))
	f.Add(uint8(0), false, []byte("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	caller := p.alice.caller()
	f.Fuzz(func(t *testing.T, which uint8, json bool, body []byte) {
		name := names[int(which)%len(names)]
		if name == accounts+"Logout" {
			return // it would end the session of the following calls
		}
		out, err := h.Invoke(t.Context(), caller, name, body, json)
		if errs.Is(err, errs.Internal) || err == nil && out == nil && json {
			t.Errorf("%s returned %q, %v", name, out, err)
		}
	})
}
