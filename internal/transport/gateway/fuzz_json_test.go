package gateway

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
)

// A frame in JSON makes the same calls as the same frame in protobuf. Invalid input makes no calls.
func FuzzJSONIsProtobuf(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"sends":[{"conversation":"5","clientSeq":"1","content":{"text":"hello 你好 👋🏽"}}]}`, `{"sends":[{"conversation":5,"clientMsgId":"own","content":{"text":"\ud83d\ude00"}}],"ack":{"epoch":1,"seq":"4294967303"}}`,
		`{"marks":[{"conversation":"5","readSeq":"3"},{"conversation":"6","delivered_seq":1}],"typing":"9"}`, `{"request":"4","ping":{"rttMs":3}}`, `{"request":"5","call":{"method":"/x","body":{"a":[1,null,{"b":"c"}]}}}`,
		`{"sends":null}`, `{"sends":[null]}`, `[]`, `{"ack":{"seq":"-1"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, asked := bench(t)
		c.json = true
		err := c.handleMessage(opText, false, b)
		c.server.serving.Wait() // a large frame is decoded by another goroutine
		frame, derr := decoded(c, b)
		if derr != nil {
			if len(asked.asked) > 0 {
				t.Fatalf("%q is not a frame (%v), and makes the calls %v", b, derr, asked.asked)
			}
			return
		}
		compressed, perr := proto.Marshal(frame)
		if perr != nil {
			t.Fatal(perr)
		}
		other, same := bench(t)
		if oerr := other.handleMessage(opBinary, false, compressed); (err == nil) != (oerr == nil) {
			t.Fatalf("%q: %v in JSON, %v in protobuf", b, err, oerr)
		}
		other.server.serving.Wait()
		if fmt.Sprint(asked.asked) != fmt.Sprint(same.asked) {
			t.Fatalf("%q makes the calls %v in JSON, %v in protobuf", b, asked.asked, same.asked)
		}
	})
}
