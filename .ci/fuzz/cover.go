package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// statements are lines of a coverage profile, less their count.
type statements map[string]bool

// adds reports whether more reaches a statement that s does not.
func (s statements) adds(more statements) bool {
	for line := range more {
		if !s[line] {
			return true
		}
	}
	return false
}

// profile reads the statements reached from a coverage profile.
func profile(file string) (statements, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := statements{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if line, ok := strings.CutSuffix(lines.Text(), " 1"); ok {
			s[line] = true
		}
	}
	return s, nil
}

// cover returns the statements that the inputs, and the seeds in the source, reach.
func (t *target) cover(ctx context.Context, inputs []input) (statements, error) {
	dir := filepath.Join(t.workshop.cover, t.pkg)
	if err := writeInputs(filepath.Join(dir, "testdata", "fuzz", t.fuzz), inputs); err != nil {
		return nil, err
	}
	file := filepath.Join(t.tmp, strings.ReplaceAll(t.name(), "/", "_")+".profile")
	cmd := exec.CommandContext(ctx, t.binaries[t.pkg].cover, "-test.run=^"+t.fuzz+"$", "-test.coverprofile="+file, "-test.timeout=10m")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", t.name(), ctx.Err())
		}
		return nil, t.failed(t.workshop.cover, out.Bytes())
	}
	return profile(file)
}

// harvest keeps of the inputs those that reach new statements, by halves.
func (t *target) harvest(ctx context.Context, inputs []input) error {
	if len(inputs) == 0 {
		return nil
	}
	reached, err := t.cover(ctx, inputs)
	if err != nil || !t.known.adds(reached) {
		return err
	}
	if len(inputs) == 1 {
		maps.Copy(t.known, reached)
		t.kept = append(t.kept, inputs[0])
		return nil
	}
	half := len(inputs) / 2
	if err := t.harvest(ctx, inputs[:half]); err != nil {
		return err
	}
	return t.harvest(ctx, inputs[half:])
}
