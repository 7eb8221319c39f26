package doccache_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// TestUnusable: if the directory cannot be used, requests go to the server, with one warning.
func TestUnusable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, []byte("x"), 0o600))
	var log bytes.Buffer
	for i, dir := range []string{file, filepath.Join(file, "below"), "a\x00b"} {
		log.Reset()
		o := always(headers("Cache-Control", "max-age=600"), `{}`)
		tr := &doccache.Transport{Base: o, Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		want(t, tr, doc, `{}`, 1)
		want(t, tr, doc, `{}`, 2)
		if s := tr.Stats(); s.Failed != 2 || strings.Count(log.String(), "level=WARN") != 1 {
			t.Errorf("%d: %+v\n%s", i, s, log.String())
		}
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 600, func(t *testing.T, dir string) {
		small := always(headers("Cache-Control", "max-age=600"), `{}`)
		tr := &doccache.Transport{Base: small, Dir: dir}
		want(t, tr, doc, `{}`, 1)
		want(t, tr, doc, `{}`, 1)
		large := always(headers("Cache-Control", "max-age=600"), `"`+strings.Repeat("x", 1000)+`"`)
		tr = &doccache.Transport{Base: large, Dir: dir}
		for i := range 2 {
			want(t, tr, number(1), `"`+strings.Repeat("x", 1000)+`"`, i+1)
		}
		if s := tr.Stats(); s.Failed != 2 || s.Misses != 2 {
			t.Errorf("%+v", s)
		}
		if n := len(entries(t, dir)); n != 1 {
			t.Errorf("%d entries", n)
		}
		checkFiles(t, dir)
	})
}

// TestFullOfLeftovers: files of killed processes are removed when the disk is full.
func TestFullOfLeftovers(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 600, func(t *testing.T, dir string) {
		left := filepath.Join(dir, doccache.Version, ".tofureg-dead.part")
		must.Do(t, os.Mkdir(filepath.Dir(left), 0o700))
		must.Do(t, os.WriteFile(left, nil, 0o600))
		large := always(headers(), `"`+strings.Repeat("x", 1000)+`"`)
		get(t, &doccache.Transport{Base: large, Dir: dir}, request(t, doc))
		if _, err := os.Lstat(left); err == nil {
			t.Error("the file of a killed process was not removed")
		}
	})
}

// TestReadOnly: a read-only directory does not cause errors.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		for i := range 2 {
			get(t, &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: dir}, request(t, number(i)))
		}
	}, func(t *testing.T, dir string) {
		o := always(headers("Cache-Control", "max-age=600"), `{"new":true}`)
		tr := &doccache.Transport{Base: o, Dir: dir}
		for range 2 {
			get(t, tr, request(t, number(0)))
			get(t, tr, request(t, number(7)))
		}
		if s := tr.Stats(); s.Failed == 0 || o.count() < 2 {
			t.Errorf("%+v, %d requests", s, o.count())
		}
	})
}

// TestLog: records contain no secrets.
func TestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	tr := &doccache.Transport{Base: always(headers("Cache-Control", "max-age=600"), `{}`), Dir: t.TempDir(), Logger: logger}
	for range 2 {
		get(t, tr, request(t, "https://user:s3cr3t@registry.example.com/v1?page=s3cr3t", "Authorization", "Bearer s3cr3t"))
	}
	redirected := request(t, "https://registry.example.com/s3cr3t/versions")
	redirected.Response = &http.Response{} // as http.Client sets it
	get(t, tr, redirected)
	text := log.String()
	if !strings.Contains(text, "answer=fetched") || !strings.Contains(text, "answer=hit") || strings.Contains(text, "s3cr3t") {
		t.Error(text)
	}
}
