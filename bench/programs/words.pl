# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds, sorts, joins and splits words. Usage: words.pl COUNT
use strict;
use warnings;

my $count = shift // 300000;
my ($state, %seen, @lists) = (1);
for my $i (1 .. $count) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    my $word = sprintf("w%x", $state % 50000);
    $seen{$word}{count}++;
    push @{$lists[$state % 1000]}, "$word:$i";
}
my $total = 0;
for my $list (grep { defined } @lists) {
    my $line = join(",", sort @$list);
    $total += scalar(grep { /w[0-9a-f]*a/ } split(/,/, $line));
}
printf "%d different words, %d with an a\n", scalar(keys %seen), $total;
