package app

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

func TestAlbumsInTerminals(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	t.Chdir(to)
	contents := map[string][]byte{"sea.png": nil, "my cat.png": nil, "notes.txt": []byte("no picture")}
	for name := range contents {
		if filepath.Ext(name) == ".png" {
			canvas, b := image.NewGray(image.Rect(0, 0, 2, len(name))), bytes.Buffer{}
			canvas.SetGray(0, 0, color.Gray{Y: 200})
			if err := png.Encode(&b, canvas); err != nil {
				t.Fatal(err)
			}
			contents[name] = b.Bytes()
		}
		if err := os.WriteFile(filepath.Join(from, name), contents[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/open @bob", "/album "+from+"/sea.png "+from+"/notes.txt", "/album", "/album "+from+"/sea.png \""+from+"/my cat.png\" -- both of them")
	alice.sees("! notes.txt is neither an image nor a video; send it with /file", "! give 1 to 10 paths")
	bob.types("/open @alice")
	line := bob.sees("--- Alice ---", "Alice: [album of 2: sea.png (", "both of them") // before that, a notice without a number
	bob.types("/save " + numberOf(line))
	bob.sees("* saved as sea.png", "* saved as my cat.png")
	for _, name := range []string{"sea.png", "my cat.png"} {
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(got)); err != nil { // the server may have removed metadata
			t.Errorf("%s: %v", name, err)
		}
	}
}
