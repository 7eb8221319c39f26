package main

import (
	"context"
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
	for line := range strings.SplitSeq(string(data), "\n") {
		if statement, ok := strings.CutSuffix(line, " 1"); ok {
			s[statement] = true
		}
	}
	return s, nil
}

// cover returns the statements that the inputs, and the seeds in the source, reach.
func (t *target) cover(ctx context.Context, inputs []input) (statements, error) {
	dir := filepath.Join(t.workspace.cover, t.pkg)
	if err := writeInputs(filepath.Join(dir, "testdata", "fuzz", t.fuzz), inputs); err != nil {
		return nil, err
	}
	file := filepath.Join(t.tmp, strings.ReplaceAll(t.name(), "/", "_")+".profile")
	cmd := exec.CommandContext(ctx, t.binaries[t.pkg].cover, "-test.run=^"+t.fuzz+"$", "-test.coverprofile="+file, "-test.timeout=10m")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, t.failed(t.workspace.cover, out)
	}
	return profile(file)
}

// minimize keeps the inputs that reach new statements, found by bisection.
func (t *target) minimize(ctx context.Context, inputs []input) error {
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
	if err := t.minimize(ctx, inputs[:half]); err != nil {
		return err
	}
	if err := t.minimize(ctx, inputs[half:]); err != nil {
		return err
	}
	// A statement that neither half reaches again depends on the order of goroutines or on time. It
	// counts as new, but no input is kept for it.
	maps.Copy(t.known, reached)
	return nil
}
