package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestPlayAll: a viewer reads each file that the playlists name, once: those of renditions, the sound, and headers.
func TestPlayAll(t *testing.T) {
	files := map[string]string{
		"/v/master.m3u8": "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"audio.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n240p.m3u8\n",
		"/v/audio.m3u8":  "#EXTM3U\n#EXT-X-MAP:URI=\"audio/init.mp4\"\n#EXTINF:2,\naudio/0.m4s\n#EXT-X-ENDLIST\n",
		"/v/240p.m3u8":   "#EXTM3U\n#EXT-X-MAP:URI=\"240p/init.mp4\"\n#EXTINF:2,\n240p/0.m4s\n240p/1.m4s\n",
	}
	var read []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read = append(read, r.URL.Path)
		fmt.Fprint(w, files[r.URL.Path])
	}))
	defer s.Close()
	if err := playAll(t.Context(), s.URL+"/v/master.m3u8"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/v/master.m3u8", "/v/audio.m3u8", "/v/audio/init.mp4", "/v/audio/0.m4s", "/v/240p.m3u8", "/v/240p/init.mp4", "/v/240p/0.m4s", "/v/240p/1.m4s"}; !slices.Equal(read, want) {
		t.Errorf("the viewer read %q, want %q", read, want)
	}
}

func TestAtEdge(t *testing.T) {
	for _, address := range []string{"/v1/video/7/master.m3u8?exp=1&sig=a", "https://files.example.com/v1/video/7/master.m3u8?exp=1&sig=a"} {
		if at, err := atEdge("http://127.0.0.1:7080/", address); err != nil || at != "http://127.0.0.1:7080/v1/video/7/master.m3u8?exp=1&sig=a" {
			t.Errorf("at the edge it is %s: %v", at, err)
		}
	}
}

// TestEdgeFigures are read from a page of metrics. One that is not of an edge is refused.
func TestEdgeFigures(t *testing.T) {
	page := "# TYPE rialto_file_cache_reads_total counter\nrialto_file_cache_reads_total{result=\"hit\"} 6\nrialto_file_cache_reads_total{result=\"joined\"} 2\nrialto_file_cache_reads_total{result=\"miss\"} 4\n" +
		"rialto_file_cache_bytes_total{from=\"cache\"} 1.5e+06\nrialto_file_cache_bytes_total{from=\"origin\"} 500000\nrialto_file_cache_blocks 2\n"
	if f, err := edgeFiguresOf([]byte(page)); err != nil || f != (edgeFigures{found: 8, missed: 4, served: 1.5e6, fetched: 5e5}) {
		t.Errorf("the figures are %v: %v", f, err)
	}
	if f, err := edgeFiguresOf([]byte("rialto_sends_total 4\n")); err == nil {
		t.Errorf("of another page there are the figures %v", f)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		list []float64
		want float64
	}{{nil, 0}, {[]float64{4}, 4}, {[]float64{9, 1, 4}, 4}} {
		if got := median(c.list); got != c.want {
			t.Errorf("the median of %v is %v", c.list, got)
		}
	}
}
