package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fsx"
)

// The variables that make this test program a helper, or another process of a test.
const (
	roleVariable = "TOFUREG_TEST_ROLE"
	fileVariable = "TOFUREG_TEST_FILE"
	outVariable  = "TOFUREG_TEST_OUT"
	errVariable  = "TOFUREG_TEST_ERR"
	exitVariable = "TOFUREG_TEST_EXIT"
	padVariable  = "TOFUREG_TEST_PAD"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if len(os.Args) == 4 && os.Args[1] == "-vault=work" {
		role = "demo" // for the examples, which set no variables
	}
	if role == "" && (len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.")) {
		os.Exit(m.Run())
	}
	// A helper without a role must not run the tests: they would start helpers forever.
	if err := play(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play is the main function of the other processes.
func play(role string) error {
	switch role {
	case "say":
		return say()
	case "record":
		return record()
	case "demo":
		fmt.Println(`{"token":"from-the-vault"}`)
	case "pad": // to a number of bytes
		return pad(os.Stdout)
	case "pad stderr":
		if err := pad(os.Stderr); err != nil {
			return err
		}
		fmt.Println(`{"token":"x"}`)
	case "flood":
		return flood(os.Stdout)
	case "flood stderr":
		return flood(os.Stderr)
	case "hang":
		hold()
	case "hold":
		hold()
	case "fork", "fork and hang", "fork quietly", "fork away":
		return fork(role)
	case "blurt": // prints its input in several encodings
		input, _ := io.ReadAll(os.Stdin)
		var told struct{ Token string }
		_ = json.Unmarshal(input, &told)
		fmt.Fprintf(os.Stderr, "cannot keep %s\nAuthorization: Bearer %s\n%q\n", input, told.Token, told.Token)
		os.Exit(1)
	case "save":
		return saveMany(os.Getenv(fileVariable), os.Getenv(outVariable))
	default:
		return fmt.Errorf("unknown role %q", role)
	}
	return nil
}

// say writes outputs and exits with a status, all from variables.
func say() error {
	fmt.Print(os.Getenv(outVariable))
	fmt.Fprint(os.Stderr, os.Getenv(errVariable))
	code, _ := strconv.Atoi(os.Getenv(exitVariable))
	os.Exit(code)
	return nil
}

// A recording is the input of a helper.
type recording struct {
	Args  []string
	Input string
	Env   string
}

func record() error {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	seen, err := json.Marshal(recording{os.Args[1:], string(input), os.Getenv(outVariable)})
	if err != nil {
		return err
	}
	fmt.Println("{}")
	return os.WriteFile(os.Getenv(fileVariable), seen, 0o600)
}

func pad(w io.Writer) error {
	n, err := strconv.Atoi(os.Getenv(padVariable))
	if err != nil {
		return err
	}
	const answer = `{"token":"x"}`
	_, err = io.WriteString(w, answer+strings.Repeat(" ", n-len(answer)))
	return err
}

func flood(w io.Writer) error {
	line := []byte(secret + " once more\n")
	for {
		if _, err := w.Write(bytes.Repeat(line, 1000)); err != nil {
			return err
		}
	}
}

// hold acquires a lock, which the system releases when this process ends, and then creates a
// file ".ready". It returns when a file ".stop" exists, or after a minute.
func hold() {
	path := os.Getenv(fileVariable)
	if _, err := fsx.AcquireLock(context.Background(), path); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path+".ready", nil, 0o600); err != nil {
		panic(err)
	}
	for range 6000 {
		if exists(path + ".stop") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// fork starts a process with role "hold" and waits until it has the lock.
func fork(how string) error {
	child := exec.Command(os.Args[0], "hold")
	child.Env = append(os.Environ(), roleVariable+"=hold")
	if how != "fork quietly" {
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
	}
	if how == "fork away" {
		leaveGroup(child)
	}
	if err := child.Start(); err != nil {
		return err
	}
	for !exists(os.Getenv(fileVariable) + ".ready") {
		time.Sleep(time.Millisecond)
	}
	if how == "fork and hang" {
		time.Sleep(time.Minute)
	}
	return say()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// saveMany saves ten tokens in a credentials file.
func saveMany(path, prefix string) error {
	file := auth.CredentialsFile{Path: path}
	for i := range 10 {
		tok, err := auth.NewToken(fmt.Sprintf("token-%s-%d", prefix, i))
		if err != nil {
			return err
		}
		if err := file.Save(context.Background(), svchost.MustParse(fmt.Sprintf("%s-%d.test", prefix, i)), tok); err != nil {
			return err
		}
	}
	return nil
}
