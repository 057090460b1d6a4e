package main

import "testing"

// What a server sends ends with an error, or becomes stanzas within their bounds.
func FuzzStanzas(f *testing.F) {
	const begin = "<?xml version='1.0'?><stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' id='1'>"
	f.Add(begin + "<message from='room@x/ann' type='groupchat'><body>hello</body><a><b><c/></b></a></message><stream:error/>")
	f.Add(begin + "<message><body>&#x0;</body></message></stream:stream>")
	f.Add(begin + "<!DOCTYPE a [<!ENTITY b 'cc'>]><message>&b;</message>")
	f.Add("<")
	f.Fuzz(func(t *testing.T, sent string) {
		s := newTestStream(sent)
		if _, err := s.start(); err != nil {
			return
		}
		for {
			e, err := s.read()
			if err != nil {
				return
			}
			if n := depth(e); n > maxDepth {
				t.Errorf("a stanza of %q is nested %d times", sent, n)
			}
		}
	})
}

func depth(e element) (n int) {
	for _, c := range e.Children {
		n = max(n, depth(c))
	}
	return n + 1
}
