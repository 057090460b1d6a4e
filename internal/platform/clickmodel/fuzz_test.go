package clickmodel_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
)

// A model file whose checksum is right is refused with bad_model, or has numbers that can be used.
func FuzzDecode(f *testing.F) {
	f.Add(`{"features":["a"],"click":{"bias":1,"weights":[2],"shift":0,"scale":1},"evaluation":{"examples":9}}`)
	f.Add(`{"features":["a"],"click":{"bias":1e300,"weights":[2],"scale":1}}`)
	f.Add(`{"features":["a"]} {}`)
	f.Fuzz(func(t *testing.T, model string) {
		sum := sha256.Sum256([]byte(model))
		file := `{"format":1,"checksum":"` + hex.EncodeToString(sum[:]) + `","model":` + model + `}`
		m, err := clickmodel.Decode([]byte(file), []string{"a"})
		if err != nil {
			if errs.Of(err).Reason != "bad_model" {
				t.Errorf("%s: error %v, want the reason bad_model", file, err)
			}
			return
		}
		for _, x := range append([]float64{m.Click.Bias, m.Click.Shift, m.Click.Scale}, m.Click.Weights...) {
			if !(math.Abs(x) <= 1e6) {
				t.Errorf("%s was read with %v", file, x)
			}
		}
		again, err := clickmodel.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := clickmodel.Decode(again, []string{"a"}); err != nil || !json.Valid(again) {
			t.Errorf("%s was written as %s, and cannot be read again: %v", file, again, err)
		}
	})
}
