package s3blob_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
)

// bucket answers requests that list it.
type bucket struct {
	names    []string // sorted
	requests []string
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	type object struct {
		Key          string
		Size         int
		LastModified string
	}
	var answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Contents              []object
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
	}
	most, _ := strconv.Atoi(q.Get("max-keys"))
	b.requests = append(b.requests, fmt.Sprint(q.Get("prefix"), " after ", q.Get("start-after"), ", ", most))
	for _, name := range b.names {
		if strings.HasPrefix(name, q.Get("prefix")) && name > q.Get("start-after") {
			if answer.IsTruncated = len(answer.Contents) == most; answer.IsTruncated {
				answer.NextContinuationToken = "more"
				break
			}
			answer.Contents = append(answer.Contents, object{name, len(name), time.Now().UTC().Format(time.RFC3339)})
		}
	}
	if r.Method != http.MethodGet || q.Get("list-type") != "2" || most == 0 {
		http.Error(w, "this is no request of a list", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer)
}

// A page of a list is one request, of as many objects as asked for. What is not named like a file is passed over, and all else below the prefix and the folder is listed once.
func TestAPageOfAListIsOneRequest(t *testing.T) {
	b := &bucket{}
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("media/%02d/%d", i%3, 1000+i))
		b.names = append(b.names, "files/"+want[i])
	}
	slices.Sort(want)
	b.names = append(b.names, "files/media/00/Other", "files/media/00/a b", "files/media2/1", "media/1", "other/media/1", "files/media/zz")
	want = append(want, "media/zz")
	slices.Sort(b.names)
	server := httptest.NewServer(b)
	defer server.Close()
	s, err := s3blob.Open(t.Context(), s3blob.Config{Endpoint: server.URL, Bucket: "bucket", Prefix: "files", AccessKey: "key", SecretKey: "secret", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	pages := 0
	for at := ""; ; {
		page, err := s.List(t.Context(), "media", at, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Files {
			if got = append(got, f.Key); f.Size != int64(len("files/"+f.Key)) || time.Since(f.Modified).Abs() > time.Hour {
				t.Errorf("the file is %+v", f)
			}
		}
		pages++
		if at = page.Next; at == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	if pages != 3 || len(b.requests) != 3 || b.requests[0] != "files/media/ after , 10" || b.requests[2] != "files/media/ after "+"files/"+got[len(got)-9]+", 10" {
		t.Errorf("%d pages by the requests %q", pages, b.requests)
	}
}
