package edge

import (
	"net/url"
	"strings"
	"testing"
)

// An address is refused, or has one spelling: what the origin is asked for is read as the same. It never leaves the folders of files.
func FuzzAddresses(f *testing.F) {
	for _, path := range []string{MediaPrefix + "7?exp=1800000000&sig=ab-_", MediaPrefix + "7?post=9&exp=1&sig=a&comment=2", VideoPrefix + "7/9-1800000000-ab/720/1.m4s", VideoPrefix + "7/0-1-a/%2e%2e/x",
		MediaPrefix + "07?exp=1&sig=a", VideoPrefix + "7/9-1-a/../../x", "/media/7?exp=%31&sig=a"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.ParseRequestURI(text)
		if err != nil {
			return
		}
		a, err := parse(u)
		if err != nil {
			return
		}
		again, err := url.ParseRequestURI(a.target)
		if err != nil {
			t.Fatalf("%q is to be asked for as %q, which is no path: %v", text, a.target, err)
		}
		if b, err := parse(again); err != nil || *b != *a || strings.Contains(a.target, "..") {
			t.Errorf("%q was read as %+v, and %q as %+v, %v", text, a, a.target, b, err)
		}
	})
}

// What an edge says of itself is refused, or read as it would be sent again. Its address can be a part of a content security policy.
func FuzzReports(f *testing.F) {
	f.Add((&Report{Name: "e1", URL: "https://edge1.example.com", Region: "eu", Connections: 3, Capacity: 9, Leaving: true}).query())
	f.Add("name=e1&connections=-1&capacity=99999999999999999999&url=https://a;b")
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		r, err := parseReport(q, nil)
		if err != nil {
			return
		}
		q, err = url.ParseQuery(r.query())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseReport(q, nil); err != nil || again.Name != r.Name || again.URL != r.URL || again.Region != r.Region || again.Connections != r.Connections || again.Capacity != r.Capacity || again.Leaving != r.Leaving {
			t.Errorf("%q was read as %+v, and again as %+v, %v", query, r, again, err)
		}
		if strings.ContainsAny(r.URL, " ;,'\"\r\n") {
			t.Errorf("%q was accepted as an address", r.URL)
		}
	})
}
