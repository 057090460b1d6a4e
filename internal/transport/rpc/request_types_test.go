package rpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// TestEachRequestHasASchema: what is made of a request's type at its first call can be made of each.
func TestEachRequestHasASchema(t *testing.T) {
	made := 0
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := 0; strings.HasPrefix(string(f.Package()), "rialto.") && i < f.Services().Len(); i++ {
			for s, j := f.Services().Get(i), 0; j < s.Methods().Len(); j++ {
				name := s.Methods().Get(j).Input().FullName()
				m, err := protoregistry.GlobalTypes.FindMessageByName(name)
				if err != nil {
					t.Fatal(err)
				}
				if requestTypeOf(m)().schema == nil {
					t.Errorf("%s has no schema", name)
				}
				made++
			}
		}
		return true
	})
	if made < 300 {
		t.Errorf("there are %d requests", made)
	}
}
