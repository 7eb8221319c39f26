package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

const corpusFile = ".ci/corpus.tar.gz"

// An input is the text of a corpus file, as package testing reads and writes it.
type input string

// file is the name the fuzzer gives the input.
func (in input) file() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(in)))[:16] }

// readCorpus returns the inputs kept for each target, by PACKAGE/TARGET.
func readCorpus() (map[string][]input, error) {
	f, err := os.Open(corpusFile)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string][]input{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", corpusFile, err)
	}
	corpus := map[string][]input{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return corpus, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", corpusFile, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", corpusFile, err)
		}
		target := path.Dir(path.Clean(h.Name))
		corpus[target] = append(corpus[target], input(text))
	}
}

// save replaces what is kept of these targets. Others may have been saved meanwhile.
func save(targets []*target) error {
	corpus, err := readCorpus()
	if err != nil {
		return err
	}
	for _, t := range targets {
		if len(t.known) > 0 { // otherwise it never began
			corpus[t.name()] = t.kept
		}
	}
	return writeCorpus(corpus)
}

// writeCorpus writes the same bytes for the same inputs.
func writeCorpus(corpus map[string][]input) error {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	count := 0
	for _, target := range slices.Sorted(maps.Keys(corpus)) {
		byName := map[string]input{}
		for _, in := range corpus[target] {
			byName[in.file()] = in
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			text := byName[name]
			h := &tar.Header{Name: target + "/" + name, Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
			if err := tw.WriteHeader(h); err != nil {
				return err
			}
			if _, err := io.WriteString(tw, string(text)); err != nil {
				return err
			}
			count++
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		return err
	}
	fmt.Printf("%s: %d inputs, %d bytes\n", corpusFile, count, b.Len())
	return os.WriteFile(corpusFile, b.Bytes(), 0o644)
}

// readInputs returns the corpus files of a directory that are not yet in seen, and adds them to it.
func readInputs(dir string, seen map[string]bool) ([]input, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var inputs []input
	for _, e := range entries {
		if seen[e.Name()] {
			continue
		}
		text, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			return nil, err
		}
		seen[e.Name()] = true
		inputs = append(inputs, input(text))
	}
	return inputs, nil
}

// writeInputs makes the directory hold these inputs and nothing else.
func writeInputs(dir string, inputs []input) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, in := range inputs {
		if err := os.WriteFile(dir+"/"+in.file(), []byte(in), 0o644); err != nil {
			return err
		}
	}
	return nil
}
