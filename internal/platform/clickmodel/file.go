package clickmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
)

const (
	// format of model files.
	format = 1
	// MaxFile is how many bytes a model file has at most.
	MaxFile = 256 << 10
)

// file is what a model file has (docs/formats/ranking.md).
type file struct {
	Format int `json:"format"`
	// Checksum is the SHA-256 of the bytes of Model.
	Checksum string          `json:"checksum"`
	Model    json.RawMessage `json:"model"`
}

// Encode returns the file of a model.
func Encode(m *Model) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("clickmodel: %w", err)
	}
	sum := sha256.Sum256(b)
	out, err := json.Marshal(file{format, hex.EncodeToString(sum[:]), b})
	if err != nil {
		return nil, fmt.Errorf("clickmodel: %w", err)
	}
	return append(out, '\n'), nil
}

func badModel(what string) error {
	return errs.New(errs.Invalid, "bad_model", what+"; train one with rialto rank train of this version")
}

// Decode returns the model of a file. It fails with bad_model if the file is damaged, of another format, or has other features than those that are given.
func Decode(b []byte, features []string) (*Model, error) {
	if len(b) > MaxFile {
		return nil, badModel(fmt.Sprintf("a model file has at most %d KiB", MaxFile>>10))
	}
	var f file
	if err := strict(b, &f); err != nil {
		return nil, badModel("this is no model file: " + err.Error())
	}
	if f.Format != format {
		return nil, badModel(fmt.Sprintf("the model file has format %d; this version reads format %d", f.Format, format))
	}
	if sum := sha256.Sum256(f.Model); hex.EncodeToString(sum[:]) != f.Checksum {
		return nil, badModel("the model file is damaged: its checksum is another one")
	}
	m := &Model{}
	if err := strict(f.Model, m); err != nil {
		return nil, badModel("the model cannot be read: " + err.Error())
	}
	return m, m.check(features)
}

func strict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows it")
	}
	return nil
}

// check returns why a model cannot be used.
func (m *Model) check(features []string) error {
	if !slices.Equal(m.Features, features) {
		return badModel(fmt.Sprintf("the model was trained with the features %s; this version has %s", strings.Join(m.Features, ", "), strings.Join(features, ", ")))
	}
	heads := []*Head{&m.Click}
	if m.Conversion != nil {
		heads = append(heads, m.Conversion)
	}
	for _, h := range heads {
		if len(h.Weights) != len(features) || !(h.Scale > 0) {
			return badModel("the weights of the model do not fit its features")
		}
		for _, x := range append([]float64{h.Bias, h.Shift, h.Scale}, h.Weights...) {
			if math.Abs(x) > 1e6 {
				return badModel("a weight of the model is too large")
			}
		}
	}
	if m.Evaluation.Examples == 0 {
		return badModel("the model was not evaluated")
	}
	return nil
}
