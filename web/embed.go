// Package web holds the built web app. Without a build (npm run build) there is only a page that says how to make one.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist notbuilt.html
var dist embed.FS

// ConsoleFolder of the files has the operators' console, and ConsolePage its page.
const (
	ConsoleFolder = "console/"
	ConsolePage   = ConsoleFolder + "console.html"
)

// Files gives the built app's files; built is false where it was not built.
func Files() (files fs.FS, built bool) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return dist, false
	}
	_, err = fs.Stat(files, "index.html")
	return files, err == nil
}

// NotBuilt gives the page to show where the app was not built.
func NotBuilt() []byte {
	page, err := dist.ReadFile("notbuilt.html")
	if err != nil {
		return []byte(err.Error()) // it is embedded: it cannot be missing
	}
	return page
}
