package rank

import (
	"bytes"
	"testing"
)

// A file of examples is refused, or each example has the features that its first line names.
func FuzzExamples(f *testing.F) {
	f.Add([]byte("{\"format\":1,\"features\":[\"a\"]}\n{\"list\":1,\"post\":2,\"features\":[0.5]}\n"))
	f.Add([]byte("{\"format\":1,\"features\":[\"a\"]}\n{\"features\":[]}\n"))
	f.Add([]byte("{\"format\":1}\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parse(bytes.NewReader(b), "file")
		if err != nil {
			return
		}
		for _, e := range d.Examples {
			if len(e.Features) != len(d.Features) {
				t.Errorf("%q has an example with %d features of %d", b, len(e.Features), len(d.Features))
			}
		}
	})
}
