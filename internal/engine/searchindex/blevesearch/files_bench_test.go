package blevesearch_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
)

// fileName makes a name in one of the forms that names have.
func (t *texts) fileName(first, second string) string {
	upper := func(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
	n := 20_200_101 + t.rng.IntN(60_000)
	switch t.rng.IntN(5) {
	case 0:
		return fmt.Sprintf("%s_%s_%d.pdf", first, second, n)
	case 1:
		return fmt.Sprintf("%s%s%d.docx", upper(first), upper(second), n)
	case 2:
		return fmt.Sprintf("%s.%s.%d.zip", first, second, n)
	case 3:
		return fmt.Sprintf("Screenshot %d.png", n)
	}
	return fmt.Sprintf("IMG_%d.jpg", n)
}

// withFiles makes one message of ten that of a file, whose name and caption are its text.
func withFiles(t *texts, b *searchindex.Batch) {
	for i := range b.Put {
		d := &b.Put[i]
		if i%10 != 0 {
			continue
		}
		words := strings.Fields(d.Text + " a b")
		if len(words) < 4 {
			words = []string{"report", "minutes"} // the text is Chinese
		}
		name := t.fileName(words[0], words[1])
		d.Text = name
		if t.rng.IntN(4) == 0 {
			d.Text += "\n" + strings.Join(words[:min(6, len(words))], " ")
		}
		d.Names = []searchindex.Range{{End: len([]rune(name))}}
		d.Kinds = []searchindex.Kind{searchindex.Message, searchindex.File}
		d.Labels = []string{string(rune('1' + t.rng.IntN(5)))}
	}
}

// BenchmarkSizeWithFiles measures how many bytes an index has for each byte of text, of messages of which one of ten has a file: found as messages only, as it was before
// there were files, as messages and files, and as two documents. An iteration is a batch.
func BenchmarkSizeWithFiles(b *testing.B) {
	for _, form := range []string{"messages", "messages and files", "two documents"} {
		b.Run(form, func(b *testing.B) {
			dir, t := b.TempDir(), newTexts()
			index, err := blevesearch.Open(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			messages, bytes, files := 0, 0, 0
			for b.Loop() {
				batch := t.batch(messages, benchBatch)
				withFiles(t, batch)
				messages += benchBatch
				for i := range batch.Put[:benchBatch] {
					d := &batch.Put[i]
					if bytes += len(d.Text); d.Names == nil {
						continue
					}
					files++
					switch form {
					case "messages":
						d.Names, d.Kinds, d.Labels = nil, nil, nil
					case "two documents":
						second := *d
						second.ID.Kind, second.Kinds = searchindex.File, nil
						d.Names, d.Kinds, d.Labels = nil, nil, nil
						batch.Put = append(batch.Put, second)
					}
				}
				if err := index.Apply(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			if err := index.Close(); err != nil {
				b.Fatal(err)
			}
			size := float64(sizeOf(b, dir))
			b.ReportMetric(size/float64(bytes), "bytes/byte")
			b.ReportMetric(size/float64(messages), "bytes/message")
			b.ReportMetric(float64(files), "files")
		})
	}
}
