// SPDX-License-Identifier: MIT OR Apache-2.0

// A process to attach to, whose goroutines allocate all the time, in C and in Go. Answers each line with how often they did, ends
// with "leave".
package main

/*
#include <stdlib.h>
#include <string.h>

static long turn(void)
{
    for (int i = 0; i < 3; i++) {
        char *volatile block = malloc(99 + i);
        memset(block, 1, 99);
        free(block);
    }
    return 3;
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

var rounds int64

func work() {
	var kept []byte
	for {
		kept = append(kept[:0], make([]byte, 5000)...)
		atomic.AddInt64(&rounds, int64(C.turn()))
		time.Sleep(time.Millisecond)
	}
}

func main() {
	for i := 0; i < 4; i++ {
		go work()
	}
	for atomic.LoadInt64(&rounds) == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "leave" {
			os.Exit(3)
		}
		fmt.Println(atomic.LoadInt64(&rounds))
	}
}
