package regclient_test

import (
	"testing"

	"github.com/tofureg/tofureg/internal/testing/memtest"
)

func TestMain(m *testing.M) { memtest.Main(m) }
