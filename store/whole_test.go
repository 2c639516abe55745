package store

import (
	"os"
	"testing"

	"fmt"

	"monolith"
	"monolith/store/history"
)

// TestMain runs the tests, or plays the writer that TestKilledAgainAndAgain kills.
func TestMain(m *testing.M) {
	play := writeUntilKilled
	switch {
	case os.Getenv(envPostman) != "":
		play = postUntilKilled
	case os.Getenv(envServers) == "":
		os.Exit(everyText(m.Run()))
	}
	if err := play(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// checkOnce checks that each poll of a server up to seq stands in the store exactly once: in one raw block, or
// behind the blocks in one row of the head.
func checkOnce(t *testing.T, b *bench, id monolith.ServerID, seq uint64) {
	t.Helper()
	blocks, err := readBlocks(t.Context(), b.db.r, "AND tier = 0", &tail{id: id})
	if err != nil {
		t.Fatal(err)
	}
	times := map[uint64]int{}
	packed := uint64(0)
	for _, k := range blocks {
		r, err := history.Open(k.payload)
		if err != nil {
			t.Fatalf("the raw block of polls %d to %d: %v", k.firstSeq, k.lastSeq, err)
		}
		for _, row := range r.Rows() {
			times[row.Seq]++
		}
		packed = max(packed, k.lastSeq)
	}
	var head []uint64
	// What is packed is deleted from the head a little later.
	if err := b.db.r.Select(&head, "SELECT seq FROM head WHERE server_id = ? AND seq > ?", int64(id), packed); err != nil {
		t.Fatal(err)
	}
	for _, n := range head {
		times[n]++
	}
	for n := uint64(1); n <= seq; n++ {
		if times[n] != 1 {
			t.Errorf("server %d: poll %d of %d is there %d times", id, n, seq, times[n])
		}
	}
	if len(times) != int(seq) {
		t.Errorf("server %d: %d polls are there, want %d", id, len(times), seq)
	}
}

// checkBlocks opens every block of every tier and reads every column, and so checks every sum in them.
func checkBlocks(t *testing.T, b *bench) {
	t.Helper()
	read := map[int]int{}
	for _, tail := range b.db.tails() {
		blocks, err := readBlocks(t.Context(), b.db.r, "", tail)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range blocks {
			read[k.tier]++
			if err := readAll(k); err != nil {
				t.Errorf("server %d, tier %d, block at %d: %v", tail.id, k.tier, k.start, err)
			}
		}
	}
	if len(read) != len(tierNames) {
		t.Errorf("blocks are there of these tiers only: %v", read)
	}
}

func readAll(k block) error {
	if k.tier == tierRaw {
		r, err := history.Open(k.payload)
		if err != nil {
			return err
		}
		for _, id := range r.IDs() {
			if _, err := r.Column(id, nil); err != nil {
				return fmt.Errorf("column %d: %w", id, err)
			}
		}
		return nil
	}
	r, err := history.OpenTier(k.payload)
	if err != nil {
		return err
	}
	for _, id := range r.IDs() {
		if _, err := r.Cells(id, nil); err != nil {
			return fmt.Errorf("column %d: %w", id, err)
		}
	}
	return nil
}
